// A conversation that goes on from one of its messages under a name of its own.

import { call } from "./gateway";
import { go } from "./route";
import { attempt } from "../view/dialogs";

export const fork = (key: string, messageId: string): Promise<void> =>
  attempt(async () => {
    const opened = await call<{ key: string }>("roost.fork", { key, messageId });
    go({ at: "chat", key: opened.key });
  }, "A fork of this conversation");
