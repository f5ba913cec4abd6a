import { defineConfig } from "vite";

const GATEWAY = "http://127.0.0.1:18789";

export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/roost/web",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
    cssTarget: ["chrome125", "firefox128", "safari17.5"],
    license: { fileName: "licenses.md" },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { proxy: { "/gateway": { target: GATEWAY, ws: true } } },
});
