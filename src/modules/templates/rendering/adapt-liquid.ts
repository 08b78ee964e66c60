import type { Context, Emitter, Liquid, Template } from 'liquidjs';

/**
 * Changes what the library does otherwise than the engine needs it:
 *
 * - `assign` takes a variable that is not given for empty, so that mail would go out without it. Here it is missing, as in output.
 * - Captures, which double with every capture of themselves, and what `replace` splits before it counts its result, are not counted
 *   against the memory.
 *
 * A name whose `assign` or `capture` has failed is null from there on: only what is really missing is reported.
 *
 * Passed to threads as text: it uses nothing outside itself.
 */
export function adaptLiquid(liquid: Liquid, toText: (value: unknown) => string): void {
  type Assign = new () => { key: string; value: { value(context: Context, isLenient: boolean): unknown } };
  type Capture = new () => { templates: Template[]; variable: string; liquid: Liquid };
  class StrictAssign extends (liquid.tags.assign as unknown as Assign) {
    *render(context: Context): Generator<unknown, void> {
      const scope = context.bottom() as Record<string, unknown>;
      try {
        scope[this.key] = yield this.value.value(context, false);
      } catch (error) {
        scope[this.key] = null;
        throw error;
      }
    }
  }
  class CountedCapture extends (liquid.tags.capture as unknown as Capture) {
    *render(context: Context): Generator<unknown, void> {
      const scope = context.bottom() as Record<string, unknown>;
      let captured = '';
      const write = (value: unknown): void => {
        const text = toText(value);
        context.memoryLimit.use(text.length);
        captured += text;
      };
      try {
        yield this.liquid.renderer.renderTemplates(this.templates, context, { write } as Emitter);
        scope[this.variable] = captured;
      } catch (error) {
        scope[this.variable] = null;
        throw error;
      }
    }
  }
  liquid.registerTag('assign', StrictAssign as never);
  liquid.registerTag('capture', CountedCapture as never);
  const replace = liquid.filters.replace as (this: unknown, ...values: unknown[]) => unknown;
  liquid.registerFilter('replace', function (value: unknown, ...others: unknown[]) {
    this.context.memoryLimit.use(toText(value).length);
    return replace.call(this, value, ...others);
  });
}
