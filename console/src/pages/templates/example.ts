type Example = { [name: string]: string | Example };

/** A value for each variable: `order.number` becomes `{ order: { number: 'number' } }`. */
export function example(variables: readonly string[]): Example {
  const whole: Example = {};
  for (const variable of variables) {
    const names = variable.split('.');
    const last = names.pop() ?? variable;
    let place = whole;
    for (const name of names) {
      const next = place[name];
      place = typeof next === 'object' ? next : (place[name] = {});
    }
    place[last] ??= last;
  }
  return whole;
}
