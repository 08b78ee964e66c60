import { resultForm } from './export.file';

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
