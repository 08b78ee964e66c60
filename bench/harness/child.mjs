import { fork, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;

/** As the image and the systemd unit start it: docs/operations.md, Memory. */
const PRODUCTION = {
  flags: ['--max-semi-space-size=16'],
  env: { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' },
};

/** One process of the product, with its log in a file as under a service manager. */
export async function startProduct({ main, logFile, env, profile }) {
  const log = openSync(logFile, 'w');
  const args = [...PRODUCTION.flags, ...profilerArguments(profile, env.WAYBILL_ROLES), main];
  const settings = { ...inherited(), ...PRODUCTION.env, ...env };
  const child = spawn(process.execPath, args, { env: settings, stdio: ['ignore', log, log] });
  const ready = await waitForLine(logFile, child);
  const { port, submissionPort } = ready;
  return { pid: child.pid, port, submissionPort, stop: () => stop(child, 'SIGTERM') };
}

/** A process of the harness: sends `{call, ...}` and waits for the result of the same call. */
export async function startHelper({ file, logFile, options, profile }) {
  const execArgv = profilerArguments(profile, path.basename(file, '.mjs'));
  const child = fork(file, [], {
    execArgv,
    env: inherited(),
    stdio: ['ignore', openSync(logFile, 'w'), 'inherit', 'ipc'],
  });
  const call = (name, details = {}) => ask(child, { call: name, ...details });
  const started = await call('start', options);
  return { pid: child.pid, started, call, stop: () => stop(child, 'SIGTERM') };
}

/** Numbered, because results may arrive in another order than the calls. */
let calls = 0;

function ask(child, message) {
  calls += 1;
  const id = calls;
  return new Promise((resolve, reject) => {
    const settle = (error, result) => {
      child.off('message', onMessage).off('exit', onExit);
      if (error) reject(error);
      else resolve(result);
    };
    const onExit = () => settle(new Error(`${child.spawnargs[1]} ended during ${message.call}`));
    const onMessage = (reply) => {
      if (reply.id === id) settle(reply.error && new Error(reply.error), reply.result);
    };
    child.on('message', onMessage).once('exit', onExit);
    child.send({ ...message, id });
  });
}

async function waitForLine(logFile, child) {
  const until = performance.now() + START_LIMIT_MS;
  while (performance.now() < until && child.exitCode === null) {
    const text = readFileSync(logFile, 'utf8');
    const line = text.split('\n').find((one) => one.includes('"msg":"ready"'));
    if (line !== undefined) return JSON.parse(line);
    await delay(50);
  }
  child.kill('SIGKILL');
  throw new Error(`The product did not become ready:\n${readFileSync(logFile, 'utf8').slice(-3_000)}`);
}

async function stop(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await ended;
  clearTimeout(timer);
}

/** A CPU profile of the process is written when it stops. */
function profilerArguments(folder, process) {
  if (folder === undefined) return [];
  // Node names the files by process and thread: with one name, that of a thread would overwrite that of the process.
  const own = path.resolve(folder, `${process}-${Date.now()}`);
  return ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${own}`];
}

/** The product's configuration comes from the bench only, not from the caller's environment. */
function inherited() {
  const { PATH, HOME, TMPDIR, LANG, NODE_OPTIONS } = process.env;
  return Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR, LANG, NODE_OPTIONS }).filter(([, value]) => value));
}
