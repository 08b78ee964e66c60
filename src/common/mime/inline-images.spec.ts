import { type InlinePart, withInlineImages } from './inline-images';

describe('inline images', () => {
  const image = (contentId: string, type = 'image/png', size = 3): InlinePart => {
    return { type, contentId, bytes: Buffer.alloc(size, 1) };
  };

  it('take the place of their references, however these are written', () => {
    const parts = [image('a@b'), image('c'), image('d&e')];
    const html = `<img src="cid:a@b"><img src='CID:a%40b'><td background=cid:c>url(cid:c)<img src="cid:d&amp;e">`;
    const data = 'data:image/png;base64,AQEB';
    expect(withInlineImages(html, parts)).toBe(
      `<img src="${data}"><img src='${data}'><td background=${data}>url(${data})<img src="${data}">`,
    );
  });

  it('stay references when they are no small picture', () => {
    const parts = [image('html', 'text/html'), image('svg', 'image/svg+xml'), image('big', 'image/png', 600_000)];
    const html = 'cid:html cid:svg cid:big cid:none cid:%E0%A4%A cid:';
    expect(withInlineImages(html, parts)).toBe(html);
    expect(withInlineImages(html, [...parts, image('x')])).toBe(html);
  });
});
