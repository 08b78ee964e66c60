import fc from 'fast-check';
import { example, withMissing } from './example';

describe('the example of variables', () => {
  const name = fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'order', 'number', 'a');
  const variable = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('.'));

  it('has a value for each, whatever their names', () => {
    expect(example(['order.number', 'order.date', 'name'])).toEqual({
      order: { number: 'number', date: 'date' },
      name: 'name',
    });
    fc.assert(
      fc.property(fc.array(variable), (variables) => {
        const written = JSON.stringify(example(variables));
        for (const each of variables) {
          let place: unknown = JSON.parse(written);
          for (const part of each.split('.')) {
            expect(Object.hasOwn(place as object, part)).toBe(true);
            place = (place as Record<string, unknown>)[part];
          }
        }
      }),
    );
  });

  it('changes nothing that other objects share', () => {
    const shared = () => [Object.prototype, Function.prototype].map((each) => Object.getOwnPropertyNames(each).join());
    const before = shared();
    fc.assert(fc.property(fc.array(variable), (variables) => void example(variables)));
    expect(example(['__proto__.signal', 'constructor.prototype.body'])).toBeDefined();
    expect(shared()).toEqual(before);
    expect(({} as Record<string, unknown>).signal).toBeUndefined();
  });

  it('adds those of a new version to what the user has written', () => {
    expect(
      JSON.parse(withMissing('{"user":{"name":"Ada"},"list":[1]}', ['user.name', 'user.age', 'list.first'])),
    ).toEqual({ user: { name: 'Ada', age: 'age' }, list: [1] });
    expect(withMissing('{"user":', ['name'])).toBe('{"user":');
    expect(withMissing('[1]', ['name'])).toBe('[1]');
  });
});
