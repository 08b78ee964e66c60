// Format, lint, types and import rules, two at a time by default: `npm run check:static`. Prints the output of what
// fails; the exit code is 1 if anything does.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { 'at-a-time': { type: 'string', default: '2' } } });
const atATime = Number(values['at-a-time']);
// Quoted as Node reads it: backslashes escape.
const preload = `--require ${JSON.stringify(path.join(import.meta.dirname, 'optimize-later.cjs'))}`;
const env = { ...process.env, NODE_OPTIONS: [process.env.NODE_OPTIONS, preload].filter(Boolean).join(' ') };
// The longest first.
const waiting = ['lint', 'format:check', 'types', 'architecture'];

function run(script) {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    // What `prelint` makes is there already.
    const child = spawn('npm', ['run', '--silent', '--ignore-scripts', script], {
      env,
      shell: process.platform === 'win32',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    child.on('close', (code) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
      console.log(`${script}: ${code === 0 ? 'passed' : 'failed'} (${seconds} s)`);
      if (code !== 0) console.log(output);
      resolve(code === 0);
    });
  });
}

async function runInTurn() {
  let passed = true;
  for (let script = waiting.shift(); script !== undefined; script = waiting.shift())
    passed = (await run(script)) && passed;
  return passed;
}

// Linter and compiler both need them.
const hasTypes = (await run('types:console')) && (await run('types:sdk'));
const results = await Promise.all(Array.from({ length: atATime }, runInTurn));
process.exitCode = hasTypes && results.every(Boolean) ? 0 : 1;
