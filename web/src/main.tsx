import { render } from "preact";
import { start } from "./state/gateway";
import "./style/base.css";
import "./style/frame.css";
import "./style/chat.css";
import "./style/code.css";
import "./style/pages.css";
import { App } from "./view/App";

start();
render(<App />, document.getElementById("app") as HTMLElement);
