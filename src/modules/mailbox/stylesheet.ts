/** The styles of the pages, with the colours and shapes of the console: one file, no image, no font; light or dark as the system is. */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --paper: #f7f8fa; --card: #fff; --ink: #171b22; --faint: #4d5664; --line: #dde1e8; --strong: #868e9b; --accent: #2a52be;
  --bad: #a8201a; --hover: #f1f4f8;
}
@media (prefers-color-scheme: dark) {
  :root { 
    --paper: #101318; --card: #181c23; --ink: #eceff4; --faint: #a9b3c2; --line: #2c333f; --strong: #727d8e; --accent: #8fb0ff;
    --bad: #ff9d96; --hover: #212732;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif;
}
a { color: var(--accent); }
.brand { display: flex; gap: .75rem; align-items: baseline; margin: 0 0 1.5rem; color: var(--faint); }
.brand a { color: var(--ink); font-size: 1.125rem; font-weight: 650; text-decoration: none; }
.tools { display: flex; flex-wrap: wrap; gap: .75rem; justify-content: space-between; margin-top: .75rem; }
.tools form { display: flex; flex-wrap: wrap; gap: .5rem; }
input { min-width: 0; width: 20rem; max-width: 100%; padding: .375rem .625rem; border: 1px solid var(--strong); border-radius: 6px; background: var(--card); color: inherit; font: inherit; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1.05rem; }
header { margin-bottom: 1rem; }
header p { margin: .25rem 0; color: var(--faint); }
.card, table, details, .text {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
}
.card { padding: .75rem 1rem; }
.card > :first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
.hint { margin: .25rem 0 0; color: var(--faint); font-size: .85rem; }
.button {
  display: inline-block; padding: .375rem .875rem; border: 1px solid var(--strong); border-radius: 6px; background: var(--card);
  color: var(--ink); font: inherit; font-weight: 550; text-decoration: none; cursor: pointer;
}
.button:hover { background: var(--hover); }
.button.danger { border-color: var(--bad); color: var(--bad); }
table { width: 100%; border-spacing: 0; overflow: hidden; }
th, td { padding: .5rem .75rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--faint); font-size: .8rem; font-weight: 600; }
td { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.when { color: var(--faint); white-space: nowrap; font-variant-numeric: tabular-nums; }
.list .from, .list .to { width: 22%; }
.list .subject a { font-weight: 600; text-decoration: none; }
.list .subject a:hover { text-decoration: underline; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
pre { overflow: auto; font: 13px/1.5 ui-monospace, monospace; }
.text { margin: 0; padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: 1rem; padding: .5rem 1rem; }
details .text { border: 0; padding: .5rem 0; }
summary { cursor: pointer; font-weight: 600; }
.fields { grid-template-columns: minmax(6rem, 14rem) 1fr; padding: .5rem 0; font-size: .85rem; }
iframe {
  display: block; width: 100%; height: 32rem; resize: vertical; border: 1px solid var(--line); border-radius: 8px;
  background: #fff; color-scheme: light;
}
nav { display: flex; gap: 1rem; justify-content: center; margin-top: 1rem; }
@media (max-width: 45rem) {
  .list thead { display: none; }
  .list tr { display: grid; grid-template-columns: 1fr max-content; padding: .5rem .75rem; border-top: 1px solid var(--line); }
  .list tr:first-child { border-top: 0; }
  .list td { padding: 0; border: 0; width: auto !important; }
  .list .subject { grid-row: 1; grid-column: 1 / -1; }
  .list .when, .list .number { grid-row: 2; color: var(--faint); }
  .list .from, .list .to { grid-column: 1 / -1; color: var(--faint); }
  .list .from::before { content: 'From '; }
  .list .to::before { content: 'To '; }
  dl, .fields { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
}
`;
