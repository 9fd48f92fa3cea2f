// Preloaded into a worker (`node --require`): moves its clock ahead by CHAOS_CLOCK_AHEAD_MS, or by the milliseconds in
// the file CHAOS_CLOCK_FILE, which may change meanwhile. The clocks of PostgreSQL, Temporal and the SDK's core stay.
const { readFileSync } = require('node:fs');

const file = process.env.CHAOS_CLOCK_FILE;
let ahead = Number(process.env.CHAOS_CLOCK_AHEAD_MS ?? 0);
const look = () => (ahead = Number(readFileSync(file, 'utf8')) || 0);
if (file) setInterval(look, 100).unref();
const Real = Date;
const now = () => Real.now() + ahead;

globalThis.Date = new Proxy(Real, {
  construct: (real, args, target) => Reflect.construct(real, args.length === 0 ? [now()] : args, target),
  apply: () => new Real(now()).toString(),
  get: (real, name, receiver) => (name === 'now' ? now : Reflect.get(real, name, receiver)),
});
