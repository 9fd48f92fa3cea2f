/** The style sheet and htmx, under names that change with their content. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

/** The style sheet of all pages: 360 to 1,920 pixels, light and dark, and print. */
const STYLE = `
:root {
  --back: #fff; --card: #f5f6f8; --text: #1a1e23; --muted: #545d68; --line: #cfd4da; --link: #0b57b8;
  --good: #12672f; --waits: #8a4b00; --bad: #a8200d; --button: #0b57b8; --on-button: #fff; --focus: #0b57b8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1318; --card: #191f26; --text: #e6e9ed; --muted: #a3adb8; --line: #3a434e; --link: #8ab8ff;
    --good: #6fd992; --waits: #f5b566; --bad: #ff9a8c; --button: #2f6fd0; --on-button: #fff; --focus: #8ab8ff;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
header, main, footer { max-width: 1200px; margin: 0 auto; padding: 10px 16px; }
header { display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: center; border-bottom: 1px solid var(--line); }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; flex: 1 1 auto; }
nav a { padding: 8px 0; text-decoration: none; color: var(--text); border-bottom: 3px solid transparent; }
nav a[aria-current] { border-color: var(--link); font-weight: 600; }
.who { margin: 0; }
.mode { border: 1px solid var(--line); border-radius: 4px; padding: 1px 8px; color: var(--muted); font-size: .9rem; }
main { min-height: 60vh; padding-top: 20px; padding-bottom: 40px; outline: 0; }
footer { display: flex; flex-wrap: wrap; gap: 8px 16px; border-top: 1px solid var(--line); }
h1 { font-size: 1.55rem; line-height: 1.25; margin: 0 0 12px; }
h2 { font-size: 1.2rem; margin: 32px 0 10px; }
h3 { font-size: 1.02rem; margin: 20px 0 6px; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 8px; top: 8px; background: var(--back); padding: 8px; z-index: 1; }
.hint, .quiet-text { color: var(--muted); font-size: .92rem; }
p, ul, ol, dl { margin: 0 0 12px; }
.lead { font-size: 1.1rem; max-width: 75ch; }
.prose { max-width: 75ch; }
.state { white-space: nowrap; font-weight: 600; }
.state.good { color: var(--good); } .state.waits { color: var(--waits); } .state.bad { color: var(--bad); }
.alert { border: 1px solid var(--line); border-left: 5px solid var(--bad); background: var(--card); padding: 12px 16px; margin: 0 0 18px; border-radius: 4px; }
.alert > :last-child, .note > :last-child { margin-bottom: 0; }
.note { border: 1px solid var(--line); border-left: 5px solid var(--waits); background: var(--card); padding: 12px 16px; margin: 0 0 18px; border-radius: 4px; }
.note.good { border-left-color: var(--good); }
.list { list-style: none; padding: 0; }
.list > li { border: 1px solid var(--line); border-radius: 6px; padding: 12px 14px; margin: 0 0 10px; display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; }
.list .what { flex: 1 1 320px; min-width: 0; } .list .what p { margin: 0; }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 230px), 1fr)); gap: 10px 20px; }
.fields div { min-width: 0; } .fields dt { color: var(--muted); font-size: .9rem; } .fields dd { margin: 0; }
.scroll { overflow-x: auto; margin: 0 0 12px; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
th, td { text-align: left; vertical-align: top; padding: 7px 10px; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { background: var(--card); }
td { max-width: 60ch; min-width: 4.5rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
form { margin: 0; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: 14px 16px; margin: 0 0 14px; }
.card > summary { cursor: pointer; font-weight: 600; }
.card[open] > summary { margin-bottom: 10px; }
.input { margin: 0 0 14px; }
label, legend { font-weight: 600; } .input label { display: block; }
.choice label { font-weight: 400; }
fieldset { border: 1px solid var(--line); border-radius: 6px; margin: 0 0 14px; padding: 10px 14px; }
input, select, textarea { font: inherit; color: var(--text); background: var(--back); border: 1px solid var(--muted); border-radius: 4px; padding: 8px 10px; max-width: 100%; }
.input input, .input select, .input textarea { width: 100%; max-width: 34rem; }
.hint { display: block; }
button, .button { font: inherit; font-weight: 600; color: var(--on-button); background: var(--button); border: 1px solid var(--button); border-radius: 4px; padding: 9px 18px; cursor: pointer; text-decoration: none; display: inline-block; }
.quiet { background: transparent; color: var(--link); border-color: var(--line); font-weight: 400; }
.row { display: flex; flex-wrap: wrap; gap: 10px 14px; align-items: end; margin: 0 0 12px; }
.row .input { margin: 0; flex: 0 1 260px; }
progress { display: block; width: 100%; max-width: 34rem; height: 14px; border: 0; appearance: none; background: var(--line); }
progress::-webkit-progress-bar { background: var(--line); } progress::-webkit-progress-value { background: var(--button); } progress::-moz-progress-bar { background: var(--button); }
@media (max-width: 480px) { body { font-size: 15px; } .list a.button { width: 100%; text-align: center; } h1 { font-size: 1.35rem; } }
@media print {
  :root { --back: #fff; --card: #fff; --text: #000; --muted: #444; --line: #bbb; --link: #000; --good: #000; --waits: #000; --bad: #000; }
  header nav, footer, form, button, .button, .skip, .more { display: none; }
  .scroll { overflow: visible; border: 0; } body { font-size: 10pt; } tr, .card, .list > li { break-inside: avoid; } h2 { break-after: avoid; }
}
`;

function asset(name: string, type: string, content: Buffer | string) {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
  return { url: `/assets/${hash}/${name}`, type, bytes };
}

export const ASSETS = {
  style: asset('style.css', 'text/css; charset=utf-8', STYLE),
  htmx: asset('htmx.js', 'text/javascript; charset=utf-8', readFileSync(require.resolve('htmx.org/dist/htmx.min.js'))),
};

export function addAssets(app: FastifyInstance): void {
  for (const { url, type, bytes } of Object.values(ASSETS)) {
    app.get(url, { schema: { hide: true } }, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(bytes),
    );
  }
}
