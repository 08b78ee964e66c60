'use strict';
// Preloaded into a real process (`NODE_OPTIONS=--require …`): its wall clock is off by SHIFTED_CLOCK_MS, its monotonic clock is right.
const RightDate = Date;
const now = () => RightDate.now() + Number(process.env.SHIFTED_CLOCK_MS);
globalThis.Date = new Proxy(RightDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  get: (target, name) => (name === 'now' ? now : target[name]),
});
