import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
const OXLINT = path.join(ROOT, 'node_modules/oxlint/bin/oxlint');

/** A line of code for each rule that it breaks. */
const SERVICE: Record<string, string> = {
  // Such lines count at the top of a file only.
  'triple-slash-reference': `/// <reference path="other" />`,
  'no-restricted-imports': `import { request } from 'node:http';`,
  'type-imports': `import { Socket } from 'node:net'; export type Line = Socket;`,
  'no-restricted-globals': `void fetch('x');`,
  'no-restricted-properties': `export const at = Date.now();`,
  'no-console': `console.log(request);`,
  'no-var': `var old = 1;`,
  'prefer-const': `let kept = 2;`,
  'prefer-rest-params': `export function rest() { return arguments[0] as unknown; }`,
  'prefer-spread': `export const most = Math.max.apply(Math, list);`,
  'no-array-constructor': `export const list = new Array(1, 2, 3);`,
  'no-unused-expressions': `kept === old;`,
  'no-unused-vars': `const unused = 1;`,
  complexity: `export function c(a: number) { return a ? 1 : a ? 2 : a ? 3 : a ? 4 : a ? 5 : a ? 6 : a ? 7 : a ? 8 : a ? 9 : a ? 10 : 0; }`,
  curly: `if (kept > 1)\n  old = 2;`,
  eqeqeq: `export const same = kept == old;`,
  'max-depth': `if (old) { if (kept) { if (old > 1) { if (kept > 1) { old = 3; } } } }`,
  'max-lines-per-function': `export function long() {${'\n  old += 1;'.repeat(40)}\n}`,
  'max-lines': `${'\n'.repeat(300)}old += 1;`,
  'max-params': `export class Seven { constructor(readonly a: 1, readonly b: 1, readonly c: 1, readonly d: 1, readonly e: 1, readonly f: 1, readonly g: 1) {} }`,
  parameters: `export const six = (a: 1, b: 1, c: 1, d: 1, e: 1, f: 1) => [a, b, c, d, e, f];`,
  'ban-ts-comment': `// @ts-ignore`,
  'no-duplicate-enum-values': `export enum Twice { A = 1, B = 1 }`,
  'no-empty-object-type': `export interface Empty {}`,
  'no-explicit-any': `declare const value: any;`,
  'no-extra-non-null-assertion': `export const extra = (kept as number | undefined)!!;`,
  'no-misused-new': `export interface Made { new (): Made; constructor(): void }`,
  'no-namespace': `export namespace Space { export const q = 1; }`,
  'no-non-null-asserted-optional-chain': `export const chain = (x?: { y?: number }) => x?.y!;`,
  'no-non-null-assertion': `export const some = (x?: number) => x!;`,
  'no-require-imports': `export const fs = require('node:fs') as unknown;`,
  'no-this-alias': `export class Alias { get() { const self = this; return self; } }`,
  'no-unnecessary-type-constraint': `export function any<T extends unknown>(t: T) { return t; }`,
  'no-unsafe-declaration-merging': `export interface Merged { a: 1 } export class Merged {}`,
  'no-unsafe-function-type': `export const call: Function = () => 1;`,
  'no-wrapper-object-types': `export const wrapped: String = 'x';`,
  'no-extraneous-class': `export class Nothing {}`,
  'prefer-as-const': `export const literal = 'x' as 'x';`,
  'prefer-namespace-keyword': `declare module Older { const q = 1; }`,
  'await-thenable': `export async function waits() { await 5; }`,
  'no-array-delete': `export function cut(of: number[]) { delete of[0]; }`,
  'no-base-to-string': `export const shown = String({ a: 1 });`,
  'no-duplicate-type-constituents': `export type Same = 'a' | 'a';`,
  'no-floating-promises': `Promise.resolve(1);`,
  'no-for-in-array': `export function each(of: number[]) { for (const i in of) process.stdout.write(i); }`,
  'no-implied-eval': `setTimeout('alert(1)', 1);`,
  'no-misused-promises': `[1].forEach(async () => { await Promise.resolve(); });`,
  'no-redundant-type-constituents': `export type Wide = unknown | string;`,
  'no-unnecessary-type-assertion': `export const known = ('x' as string) as string;`,
  'no-unsafe-argument': `process.stdout.write(value);`,
  'no-unsafe-assignment': `export const text: string = value;`,
  'no-unsafe-call': `value();`,
  'no-unsafe-enum-comparison': `enum Kind { A, B } export const isA = (kind: Kind) => kind === 0;`,
  'no-unsafe-member-access': `void value.name;`,
  'no-unsafe-return': `export function loose(): string { return value; }`,
  'no-unsafe-unary-minus': `export const minus = (of: string) => -of;`,
  'only-throw-error': `export function fails() { throw 'text'; }`,
  'prefer-promise-reject-errors': `export const rejects = () => Promise.reject('no');`,
  'prefer-readonly': `export class Box { private value = 1; get() { return this.value; } }`,
  'require-await': `export async function idle() { return 1; }`,
  'restrict-plus-operands': `export const sum = { a: 1 } + '';`,
  'restrict-template-expressions': 'export const listed = `${{ a: 1 }}`;',
  'return-await': `export async function tries() { try { return Promise.resolve(); } catch { return undefined; } }`,
  'switch-exhaustiveness-check': `export function turn(way: 'a' | 'b') { switch (way) { case 'a': return 1; } return 0; }`,
  'unbound-method': `export const bound = new Alias().get;`,
};

const COMPONENT: Record<string, string> = {
  'rules-of-hooks': `if (on) useState(1);`,
  'exhaustive-deps': `useEffect(() => { setCount(count + 1); }, []);`,
  'set-state-in-effect': `useEffect(() => { setCount(items.length); }, [items]);`,
  'use-memo': `const late = useMemo(async () => 1, []);`,
  'void-use-memo': `useMemo(() => { items.push('x'); }, [items]);`,
  purity: `const chance = Math.random();`,
  refs: `ref.current = 5;`,
  globals: `outside = 2;`,
  immutability: `items[0] = 'y';`,
  'set-state-in-render': `setCount(3);`,
  'static-components': `const Inner = () => <b>{count}</b>;`,
  'error-boundaries': `try { return <Inner key={chance + ref.current} />; } catch { return late; }`,
};

/** In a component of its own for each, as what compiles it stops at the first that it finds. */
const component = (name: string) => `
export function C${name.replaceAll('-', '')}({ on, items }: { on: boolean; items: string[] }) {
  const [count, setCount] = useState(0);
  const ref = useRef(0);
  ${name === 'error-boundaries' ? 'const [Inner, chance, late] = [Other, 1, null];' : ''}
  ${COMPONENT[name]}
  ${name === 'static-components' ? 'return <Inner />;' : `return <b>{String(on)}{count}{ref.current}{items}</b>;`}
}`;

const CONSOLE = `import { useEffect, useMemo, useRef, useState } from 'react';
export let outside = 1;
export const Other = () => <b />;
${Object.keys(COMPONENT).map(component).join('\n')}`;

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
}

/** The rules that the files break, by their names without the plugin's. */
function rulesBroken(folder: string): Set<string> {
  const { stdout, stderr } = spawnSync(process.execPath, [OXLINT, '--type-aware', '--format', 'json', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  // The linter reports what stops it (memory, a missing part) as plain text.
  if (!stdout.startsWith('{')) throw new Error(`The linter has not run:\n${stdout}\n${stderr}`);
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  return new Set(diagnostics.map(({ code }) => code.replace(/^.*\((.*)\)$/, '$1')));
}

describe('the linter', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'lint-'));
    const write = (file: string, text: string): void => {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    };
    const settings = readFileSync(path.join(ROOT, '.oxlintrc.json'), 'utf8')
      .replace('./scripts/lint-rules.mjs', path.join(ROOT, 'scripts/lint-rules.mjs'))
      .replace('"eslint-plugin-react-hooks"', JSON.stringify(require.resolve('eslint-plugin-react-hooks')));
    write('.oxlintrc.json', settings);
    const typeRoots = [path.join(ROOT, 'node_modules/@types')];
    write(
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { strict: true, jsx: 'react-jsx', types: ['node'], typeRoots } }),
    );
    write('src/broken.ts', Object.values(SERVICE).join('\n'));
    write('console/src/broken.tsx', CONSOLE);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('notices each of its rules', () => {
    const broken = rulesBroken(folder);
    expect([...Object.keys(SERVICE), ...Object.keys(COMPONENT)].filter((rule) => !broken.has(rule))).toEqual([]);
  });
});
