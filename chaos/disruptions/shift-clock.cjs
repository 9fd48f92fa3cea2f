// Preloaded into a worker (`node --require`): moves its clock ahead by CHAOS_CLOCK_AHEAD_MS. The clocks of PostgreSQL,
// Temporal and the SDK's core are not changed.
const ahead = Number(process.env.CHAOS_CLOCK_AHEAD_MS ?? 0);
const Real = Date;
const now = () => Real.now() + ahead;

globalThis.Date = new Proxy(Real, {
  construct: (real, args, target) => Reflect.construct(real, args.length === 0 ? [now()] : args, target),
  apply: () => new Real(now()).toString(),
  get: (real, name, receiver) => (name === 'now' ? now : Reflect.get(real, name, receiver)),
});
