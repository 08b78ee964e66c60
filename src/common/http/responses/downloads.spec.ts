import fc from 'fast-check';
import { anyCharacter } from '../../../../test/factories/any-character';
import { downloadAs } from './downloads';

describe('downloadAs', () => {
  it.each([
    ['invoice.pdf', 'invoice.pdf', 'invoice.pdf'],
    ['Größe 100%.txt', 'Gr__e 100_.txt', 'Gr%C3%B6%C3%9Fe%20100%25.txt'],
    ['a"b\\c/d.txt', 'a_b_c_d.txt', 'a_b_c_d.txt'],
    ["it's (1).txt", "it's (1).txt", 'it%27s%20%281%29.txt'],
    ['x\r\nSet-Cookie: y', 'x Set-Cookie_ y', 'x%20Set-Cookie_%20y'],
    ['\0', 'attachment', 'attachment'],
    ['photo\u202egpj.exe', 'photo gpj.exe', 'photo%20gpj.exe'],
  ])('names %j', (name, ascii, extended) => {
    expect(downloadAs(name)).toBe(`attachment; filename="${ascii}"; filename*=UTF-8''${extended}`);
  });

  it('makes a header of any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (name) => {
        expect(downloadAs(name)).toMatch(/^attachment; filename="[ -!#-[\]-~]+"; filename\*=UTF-8''[\w.!~%-]+$/);
      }),
    );
  });
});
