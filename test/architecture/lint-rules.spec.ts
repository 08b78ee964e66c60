import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import tseslint from 'typescript-eslint';

type Rules = Record<string, unknown>;

const TYPED = tseslint.configs.recommendedTypeCheckedOnly.reduce<Rules>((all, { rules }) => ({ ...all, ...rules }), {});
/** Beyond what is recommended. */
const OWN = ['prefer-readonly', 'return-await', 'switch-exhaustiveness-check'];

const { rules } = JSON.parse(readFileSync(join(__dirname, '../../.oxlintrc.json'), 'utf8')) as { rules: Rules };
const isError = (setting: unknown) => setting === 'error' || (Array.isArray(setting) && setting[0] === 'error');

// ESLint has all other rules; that of its own configuration would not tell that one is missing here.
it('every rule of typescript-eslint that needs types, and is recommended, is on in .oxlintrc.json', () => {
  const recommended = Object.keys(TYPED)
    .filter((name) => name.startsWith('@typescript-eslint/') && TYPED[name] === 'error')
    .map((name) => name.replace('@typescript-eslint/', ''));
  expect(recommended.length).toBeGreaterThan(20);
  expect([...recommended, ...OWN].filter((name) => !isError(rules[`typescript/${name}`]))).toEqual([]);
});
