import { buffer } from 'node:stream/consumers';
import { resultForm, zipExport } from './export.file';

it.each([
  [undefined, 'json'],
  ['', 'json'],
  ['*/*', 'json'],
  ['application/json', 'json'],
  ['text/html, image/png', 'json'],
  ['text/csv', 'csv'],
  ['TEXT/CSV; charset=utf-8', 'csv'],
  ['application/zip', 'zip'],
  ['application/json, application/zip', 'json'],
  ['application/zip, application/json', 'zip'],
  ['application/json;q=0.5, text/csv', 'csv'],
  ['text/csv;q=0', 'json'],
  ['text/csv;q=x, application/zip; q=0.1', 'zip'],
  [',;,;;', 'json'],
])('Accept: %s wants %s', (accept, form) => {
  expect(resultForm(accept)).toBe(form);
});

it('dates the files of a ZIP file with the time that is given', async () => {
  const result = { read: () => (async function* () {})() };
  const zipOf = async (now: string) => buffer(zipExport(result, 'json', new Date(now)));
  const made = await zipOf('2031-05-06T07:08:10');
  const entry = made.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
  // MS-DOS date: years since 1980, month, day.
  expect(made.readUInt16LE(entry + 14)).toBe(((2031 - 1980) << 9) | (5 << 5) | 6);
  expect(await zipOf('2031-05-06T07:08:10')).toEqual(made);
});
