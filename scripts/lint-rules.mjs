// Rules of our own for oxlint (.oxlintrc.json).
const LONGEST_COMMENT_LINE = 120;

/** Code is Prettier's; comments are read as they stand. A line with an address may be longer. */
const commentWidth = {
  create(context) {
    return {
      Program() {
        const lines = context.sourceCode.getText().split('\n');
        for (const { loc } of context.sourceCode.getAllComments())
          for (let line = loc.start.line; line <= loc.end.line; line += 1)
            if (lines[line - 1].length > LONGEST_COMMENT_LINE && !lines[line - 1].includes('://'))
              context.report({
                loc: { start: { line, column: 0 }, end: { line, column: 1 } },
                message: `A comment is wider than ${LONGEST_COMMENT_LINE} columns.`,
              });
      },
    };
  },
};

/** A CommonJS package may have its names on `default` alone, which tests do not show. */
const importDefault = {
  create(context) {
    return {
      VariableDeclarator({ id, init }) {
        const imported =
          init?.type === 'AwaitExpression' && init.argument.type === 'ImportExpression' ? init.argument : null;
        if (!imported || id.type !== 'ObjectPattern' || /^[.#]/.test(String(imported.source.value))) return;
        for (const property of id.properties)
          if (property.key?.name !== 'default')
            context.report({
              node: property,
              message:
                'Take `default` of a package that is imported while running: a CommonJS package may have nothing else.',
            });
      },
    };
  },
};

export default { meta: { name: 'own' }, rules: { 'comment-width': commentWidth, 'import-default': importDefault } };
