import { ValidationError } from '../errors/app-error';
import { parseElements } from './json-body';

const parse = (text: string) => parseElements(Buffer.from(text), 1_000) as unknown[];

/** A batch whose items stand alone even when one of them cannot be read. */
describe('parseElements', () => {
  it.each([
    ['a NUL', '{"text":"a\\u0000"}', '1.text'],
    ['a lone surrogate', '{"to":["a","\\ud800"]}', '1.to[1]'],
    ['a prototype key', '{"a":{"__proto__":1}}', '1.a'],
    ['an infinite number', '{"metadata":{"n":[1,1e999]}}', '1.metadata.n[1]'],
    ['a key given twice', '{"to":[{"email":"a","name":1,"\\u0065mail":"b"}]}', '1.to[0].email'],
  ])('makes an element with %s its own error', (_name, element, path) => {
    const [first, second, third] = parse(`[{"ok":1},${element},{"ok":3}]`);
    expect([first, third]).toEqual([{ ok: 1 }, { ok: 3 }]);
    expect(second).toBeInstanceOf(ValidationError);
    const { validation } = (second as ValidationError).details as { validation: Record<string, string[]> };
    expect(Object.keys(validation)[0]).toContain(path);
  });

  it.each(['1e999', '-1e999', `1${'0'.repeat(400)}`])(
    'refuses an item that holds %s, whatever another holds',
    (number) => {
      for (const other of ['"\\u0000"', '"\\ud800"', '{"__proto__":1}', '{"a":1,"a":2}', '1']) {
        expect(parse(`[${other},{"metadata":{"n":${number}}}]`)[1]).toBeInstanceOf(ValidationError);
      }
    },
  );

  it('refuses the whole when it cannot be read at all', () => {
    const deep = `${'['.repeat(50)}${']'.repeat(50)}`;
    for (const text of [`["\\u0000",${deep}]`, '["\\u0000"', '{"a":"\\u0000"}', `["\\u0000"${',1'.repeat(2_000)}]`]) {
      expect(() => parse(text)).toThrow(ValidationError);
    }
  });
});
