import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

const clockRule = {
  object: 'Date',
  property: 'now',
  message: 'Take the time from common/clock.ts so that tests can move it.',
};
const environmentRule = {
  object: 'process',
  property: 'env',
  message: 'The environment is read once, in src/config/.',
};

const parametersRule = {
  selector: [
    'FunctionDeclaration[params.length>5]',
    'ArrowFunctionExpression[params.length>5]',
    ':not(MethodDefinition[kind="constructor"]) > FunctionExpression[params.length>5]',
  ].join(', '),
  message: 'A function takes up to five parameters; only a constructor takes six. Pass an object instead.',
};

const egressMessage = 'Requests to the outside go through common/egress, which checks where they lead.';
const egressRules = {
  'no-restricted-globals': ['error', { name: 'fetch', message: egressMessage }],
  'no-restricted-imports': [
    'error',
    { name: 'node:http', importNames: ['request', 'get', 'Agent', 'globalAgent', 'default'], message: egressMessage },
  ],
};

/** Type-checked rules for the product; tests and benchmarks keep the safety rules and drop the size budgets. */
export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      'coverage/**',
      '**/*.mjs',
      '**/*.cjs',
      '**/*.js',
      'console/src/api/schema.d.ts',
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true, allowStaticOnly: true }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/return-await': ['error', 'in-try-catch'],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      complexity: ['error', { max: 10, variant: 'modified' }],
      curly: ['error', 'multi-line'],
      eqeqeq: 'error',
      'max-depth': ['error', 3],
      'max-lines': ['error', { max: 300 }],
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],
      // Functions take five parameters, constructors six: a class with more collaborators is split.
      'max-params': ['error', 6],
      'no-console': 'error',
      'no-restricted-properties': ['error', clockRule, environmentRule],
      'no-restricted-syntax': ['error', parametersRule],
    },
  },
  { files: ['src/**'], ignores: ['src/common/egress/**', '**/*.spec.ts'], rules: egressRules },
  { files: ['src/config/**'], rules: { 'no-restricted-properties': ['error', clockRule] } },
  { files: ['src/common/clock.ts'], rules: { 'no-restricted-properties': ['error', environmentRule] } },
  { files: ['**/*.sql.ts', 'src/database/migrations/**'], rules: { 'max-lines-per-function': 'off' } },
  {
    // A component is a function whose markup takes lines and conditions; the browser has no clock of ours.
    files: ['console/src/**'],
    extends: [reactHooks.configs.flat['recommended-latest']],
    languageOptions: { parserOptions: { project: './console/tsconfig.lint.json' } },
    rules: {
      complexity: ['error', { max: 15, variant: 'modified' }],
      'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }],
      'no-restricted-properties': 'off',
      // An event handler may return a promise: React ignores it, and what fails is shown by the handler itself.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
    },
  },
  {
    files: ['test/**', 'bench/**', '**/*.spec.ts'],
    rules: {
      complexity: 'off',
      'max-lines': ['error', { max: 500 }],
      'max-lines-per-function': 'off',
      'no-console': 'off',
      'no-restricted-properties': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
