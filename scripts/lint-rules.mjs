// Rules of our own, for Oxlint (`.oxlintrc.json`).

const MOST_PARAMETERS = 5;
const TOO_MANY = 'A function takes up to five parameters; only a constructor takes six. Pass an object instead.';

const isOfConstructor = ({ parent }) => parent?.type === 'MethodDefinition' && parent.kind === 'constructor';

/** `max-params` that distinguishes functions and constructors. */
const parameters = {
  create(context) {
    const check = (node) => {
      if (node.params.length > MOST_PARAMETERS && !isOfConstructor(node)) context.report({ node, message: TOO_MANY });
    };
    return { FunctionDeclaration: check, ArrowFunctionExpression: check, FunctionExpression: check };
  },
};

/** `typeof value` in a type refers to a value, and to its type only. */
function isInTypeQuery({ identifier }) {
  let child = identifier;
  let { parent } = identifier;
  while (
    (parent.type === 'TSQualifiedName' && parent.left === child) ||
    (parent.type === 'MemberExpression' && parent.object === child)
  ) {
    child = parent;
    parent = parent.parent;
  }
  return parent.type === 'TSTypeQuery';
}

const isOnlyType = ({ references }) =>
  references.length > 0 &&
  references.every((reference) => (reference.isValueReference ? isInTypeQuery(reference) : reference.isTypeReference));

/**
 * Imports that are used as types only must be type imports: `consistent-type-imports` of typescript-eslint, which also handles that
 * metadata refers to the types of what is decorated, and leaves files with decorators alone.
 */
const typeImports = {
  create(context) {
    const imports = [];
    let hasDecorators = false;
    return {
      Decorator: () => (hasDecorators = true),
      ImportDeclaration: (node) => imports.push(node),
      'Program:exit'() {
        if (hasDecorators) return;
        for (const { importKind, specifiers } of imports) {
          if (importKind === 'type') continue;
          for (const node of specifiers) {
            if (node.importKind === 'type' || !context.sourceCode.getDeclaredVariables(node).every(isOnlyType))
              continue;
            context.report({ node, message: `${node.local.name} is used as a type only: import it as one.` });
          }
        }
      },
    };
  },
};

export default { meta: { name: 'waybill' }, rules: { parameters, 'type-imports': typeImports } };
