/** In which form a result is wanted: within the JSON answer, as one CSV file, or as a ZIP file. */
export type ResultForm = 'json' | 'csv' | 'zip';

const FORMS: ReadonlyMap<string, ResultForm> = new Map([
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['application/zip', 'zip'],
]);

/** By the `Accept` header (RFC 9110 section 12.5.1): the known type that is wanted most, the first of equals; else JSON. */
export function resultForm(accept: string | undefined): ResultForm {
  const wanted = (accept ?? '').split(',').flatMap((range) => {
    const [type = '', ...parameters] = range.split(';').map((text) => text.trim().toLowerCase());
    const form = FORMS.get(type);
    return form ? [{ form, quality: qualityOf(parameters) }] : [];
  });
  const best = Math.max(0, ...wanted.map(({ quality }) => quality));
  return wanted.find(({ quality }) => quality > 0 && quality === best)?.form ?? 'json';
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  return given === undefined ? 1 : Number(given.slice(2)) || 0;
}
