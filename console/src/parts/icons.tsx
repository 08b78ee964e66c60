const PATHS = {
  overview: 'M3 11l9-7 9 7M5 10v10h14V10',
  emails: 'M3 6h18v12H3zM3 7l9 7 9-7',
  domains: 'M12 3a9 9 0 100 18 9 9 0 000-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  suppressions: 'M12 3a9 9 0 100 18 9 9 0 000-18zM6 6l12 12',
  statistics: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  webhooks: 'M13 3L5 14h6l-1 7 8-11h-6z',
  keys: 'M14 10a4 4 0 11-4-4 4 4 0 014 4zM13 13l8 8M18 18l2-2',
  send: 'M4 12l16-8-6 16-3-6z',
  events: 'M4 6h16M4 12h16M4 18h10',
  privacy: 'M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z',
  templates: 'M4 4h16v16H4zM4 9h16M9 9v11',
  organizations: 'M4 21V8l6-4v17M10 21V10h10v11M2 21h20',
  queue: 'M4 6h16v4H4zM4 14h16v4H4z',
  destinations: 'M12 21s7-6 7-11a7 7 0 10-14 0c0 5 7 11 7 11zM12 12a2 2 0 100-4 2 2 0 000 4z',
  workers: 'M12 9a3 3 0 100 6 3 3 0 000-6zM12 2v4M12 18v4M2 12h4M18 12h4M5 5l3 3M16 16l3 3M19 5l-3 3M8 16l-3 3',
  egress: 'M4 12h14M13 6l6 6-6 6',
  audit: 'M6 3h9l4 4v14H6zM9 12h7M9 16h7',
  inbound: 'M3 12v7h18v-7M12 3v11M8 10l4 4 4-4',
  mailbox: 'M3 8a4 4 0 018 0v10H3zM11 8a4 4 0 014-4h2a4 4 0 014 4v10H11M7 4h8',
  menu: 'M4 7h16M4 12h16M4 17h16',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12l5 5 9-10',
  search: 'M11 4a7 7 0 100 14 7 7 0 000-14zM16 16l5 5',
  plus: 'M12 5v14M5 12h14',
  refresh: 'M20 12a8 8 0 11-2.5-5.8M20 3v5h-5',
  moon: 'M20 14a8 8 0 11-9-10 6.5 6.5 0 009 10z',
  sun: 'M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2',
  warn: 'M12 4l9 16H3zM12 10v4M12 17v.5',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: the words beside it have the meaning. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
