import fc from 'fast-check';
import { ValidationError } from '../errors/app-error';
import { parseElements, parseJson } from './parse-json';

/** The field that the refusal of a text names, or undefined when it is taken. */
function refusedField(text: string | Uint8Array): string | undefined {
  try {
    parseJson(Buffer.from(text as string));
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError);
    const { validation } = (error as ValidationError).details as { validation: Record<string, string[]> };
    return Object.keys(validation).join();
  }
}

describe('parseJson', () => {
  it('returns what JSON.parse returns', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        if (refusedField(text) === undefined) expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses every text in which an object names a member twice, and no other', () => {
    const text = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom('1', '"a"', '":"', 'null', '"\\""', '{}', '[]'),
        fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(',')}]`),
        fc
          .array(fc.tuple(fc.constantFrom('"a"', '"b"', '"\\u0061"', '"c\\""'), tie('value')), { maxLength: 3 })
          .map((members) => `{${members.map(([key, value]) => `${key} :${value}`).join(', ')}}`),
      ),
    })).value;
    fc.assert(
      fc.property(text, (json) => {
        // As many members in the text as in its value, exactly when no object names one twice.
        let members = 0;
        JSON.parse(json, function count(_key, value: unknown) {
          if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
            members += Object.keys(value).length;
          }
          return value;
        });
        const written = json.match(/" :/g)?.length ?? 0;
        expect(refusedField(json) === undefined).toBe(members === written);
      }),
      { numRuns: 2_000 },
    );
  });

  it('throws nothing but ValidationError, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        refusedField(bytes);
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\u0d8ce1-. tn\n') }), (text) => {
        refusedField(text);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['{"to":["a",{"email":"\\u0000"}]}', 'to[1].email'],
    ['[{"a":1},{"subject":"\\ud800"}]', '1.subject'],
    ['[{"to":[[],["\\u0000"]]}]', '0.to[1][0]'],
    ['{"a":{"b":1},"c":"\\u0000"}', 'c'],
    ['{"a,b":"x:{","c":"\\u0000"}', 'c'],
    ['{"with \\"quote\\"":"\\u0000"}', 'with "quote"'],
    ['{"a":{"\\u0000":1}}', 'a'],
    ['{"n":[1,1e999]}', 'n[1]'],
    [`{"${'k'.repeat(100)}":"\\u0000"}`, 'k'.repeat(64)],
    ['"\\u0000"', 'body'],
    ['{"__proto__":1}', 'body'],
    ['{"a":1,"a":1}', 'a'],
    ['{"a":{"b":[{"x":1,"y":2,"x":3}]}}', 'a.b[0].x'],
    ['{"subject":1,"\\u0073ubject":2}', 'subject'],
    ['{"a":{"a":1},"b":{"a":1}}', undefined],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"a":"a","b":"a"}', undefined],
    ['nonsense', 'body'],
    ['{"a":1e5}', undefined],
    ['', undefined],
    ['\ufeff', undefined],
    ['\ufeff{}', undefined],
  ])('%s names %s', (text, field) => {
    expect(refusedField(text)).toBe(field);
  });

  it('reports the position of broken JSON', () => {
    expect(() => parseJson(Buffer.from('{"a":1,}'))).toThrow(
      expect.objectContaining({ details: { validation: { body: ['is not valid JSON at position 7'] } } }),
    );
  });
});

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
