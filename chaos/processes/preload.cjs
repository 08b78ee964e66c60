'use strict';
// Loaded into the workers of a chaos run before the product (`node --require`), to do to it what nothing else can do from
// outside. The product has no code for it.
//
// - SIGUSR2: the wall clock is ahead by CHAOS_CLOCK_OFFSET_MS, and right again with the next one. The monotonic clock goes on.
// - A mail with CHAOS_POISON_MARK in its subject kills the worker that composes it, as a bug in a native library would.
const Module = require('node:module');

const RightDate = Date;
const offsetMs = Number(process.env.CHAOS_CLOCK_OFFSET_MS);
const now = () => RightDate.now() + offsetMs;
const WrongDate = new Proxy(RightDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  get: (target, name) => (name === 'now' ? now : target[name]),
});
process.on('SIGUSR2', () => {
  globalThis.Date = globalThis.Date === RightDate ? WrongDate : RightDate;
});

const mark = process.env.CHAOS_POISON_MARK;
const loadModule = Module._load;
Module._load = function load(request, ...rest) {
  const loaded = loadModule.call(this, request, ...rest);
  if (!request.endsWith('/compose-message') || loaded.composeMessage.isPoisoned) return loaded;
  const { composeMessage } = loaded;
  loaded.composeMessage = (message, ...more) => {
    if (message.subject.includes(mark)) process.kill(process.pid, 'SIGKILL');
    return composeMessage(message, ...more);
  };
  loaded.composeMessage.isPoisoned = true;
  return loaded;
};
