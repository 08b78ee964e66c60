import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const css = readFileSync(join(__dirname, 'tokens.css'), 'utf8');

/** The colours of a block of the file, by name. */
function coloursOf(selector: string): Map<string, string> {
  const [, block = ''] = css.split(`${selector} {`);
  const found = (block.split('}')[0] ?? '').matchAll(/--([\w-]+): (#[\da-f]{6});/g);
  return new Map([...found].map(([, name = '', value = '']) => [name, value]));
}

/** As WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const SURFACES = ['surface', 'card', 'sunken', 'hover', 'raised'];
const TONES = ['good', 'warn', 'bad', 'info'];
/** Which text stands on which background: 4.5 : 1. */
const TEXTS: readonly (readonly [texts: readonly string[], on: readonly string[]])[] = [
  [
    ['ink', 'ink-soft'],
    [...SURFACES, 'accent-soft', ...TONES.map((tone) => `${tone}-soft`)],
  ],
  [
    ['accent', 'bad'],
    ['surface', 'card', 'sunken', 'hover', 'accent-soft'],
  ],
  // Links and errors in notices.
  [['accent'], TONES.map((tone) => `${tone}-soft`)],
  // Placeholders.
  [['ink-faint'], ['card']],
  [['accent-ink'], ['accent']],
  [['card'], ['bad']],
  ...TONES.map((tone) => [[tone], [`${tone}-soft`]] as const),
];
/** What is seen and not read: edges of controls, the ring of the focus, edges of notices, lines of charts: 3 : 1. */
const SHAPES: typeof TEXTS = [
  [['line-strong'], ['card', 'surface']],
  [['accent'], ['surface', 'card', 'sunken', 'hover']],
  [TONES, ['surface', 'card']],
  [['chart-1', 'chart-2', 'chart-3', 'chart-4'], ['card']],
];

describe.each([':root', ":root[data-theme='dark']"])('the colours of %s', (selector) => {
  const colours = coloursOf(selector);
  const colour = (name: string): string => {
    const found = colours.get(name);
    if (found === undefined) throw new Error(`no colour ${name}`);
    return found;
  };
  const below = (pairs: typeof TEXTS, least: number): string[] =>
    pairs.flatMap(([fronts, backs]) =>
      fronts.flatMap((front) =>
        backs
          .map((back) => ({ back, ratio: contrast(colour(front), colour(back)) }))
          .filter(({ ratio }) => ratio < least)
          .map(({ back, ratio }) => `${front} on ${back}: ${ratio.toFixed(2)}`),
      ),
    );

  it('let text be read', () => expect(below(TEXTS, 4.5)).toEqual([]));
  it('let shapes be seen', () => expect(below(SHAPES, 3)).toEqual([]));
});
