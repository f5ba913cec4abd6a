// Line drawings on a grid of 24.

const PATHS = {
  archive: "M3 7h18M5 7v12h14V7M4 4h16v3H4zM10 12h4",
  branch: "M6 3v12M6 15a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM18 3a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM18 9c0 5-6 4-12 7",
  chart: "M4 20V4M4 20h16M8 16v-5M13 16V8M18 16v-9",
  chat: "M4 5h16v11H9l-5 4z",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  down: "M6 9l6 6 6-6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  menu: "M4 7h16M4 12h16M4 17h16",
  moon: "M20 14A8 8 0 1 1 10 4a6.500 6.500 0 0 0 10 10z",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  plus: "M12 5v14M5 12h14",
  redo: "M20 12a8 8 0 1 1-3-6.200M20 4v5h-5",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4",
  send: "M5 12h13M12 6l6 6-6 6",
  stop: "M6 6h12v12H6z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v1M12 20v1M3 12h1M20 12h1M5.600 5.600l.7.7M17.700 17.700l.7.7M5.600 18.400l.7-.7M17.700 6.300l.7-.7",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  tool: "M14 7a4 4 0 0 1 5-4l-2.500 2.500 2 2L21 5a4 4 0 0 1-5.500 5L8 18l-3-3 8-7.500",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  tree: "M10 3h4v4h-4zM3 17h4v4H3zM17 17h4v4h-4zM12 7v5M5 17v-5h14v5",
  unread: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={name === "more" ? "icon more" : "icon"} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
