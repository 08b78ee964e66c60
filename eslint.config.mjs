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

/** The rules that need types are Oxlint's (`.oxlintrc.json`). Tests keep the safety rules and drop the size budgets. */
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
  ...tseslint.configs.recommended,
  {
    // What only a decorator's metadata refers to is imported as a value.
    languageOptions: { parserOptions: { experimentalDecorators: true, emitDecoratorMetadata: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true, allowStaticOnly: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
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
    rules: {
      complexity: ['error', { max: 15, variant: 'modified' }],
      'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }],
      'no-restricted-properties': 'off',
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
      '@typescript-eslint/no-explicit-any': 'off',
    },
  },
);
