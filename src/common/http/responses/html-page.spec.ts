import fc from 'fast-check';
import { escapeHtml } from './html-page';
import { anyCharacter } from '../../../../test/factories/any-character';

describe('escapeHtml', () => {
  it('makes text of whatever is put in', () => {
    const text = `<script>"'\`&amp;`;
    expect(String(escapeHtml`<p title="${text}">${text}</p>`)).toBe(
      '<p title="&lt;script&gt;&quot;&#39;&#96;&amp;amp;">&lt;script&gt;&quot;&#39;&#96;&amp;amp;</p>',
    );
  });

  it('leaves markup, alone or in a list, as it is', () => {
    const items = ['<a>', 'b'].map((item) => escapeHtml`<li>${item}</li>`);
    expect(String(escapeHtml`<ul>${items}</ul>${escapeHtml`<br />`}`)).toBe(
      '<ul><li>&lt;a&gt;</li><li>b</li></ul><br />',
    );
  });

  it('shows numbers, and nothing for what is undefined', () => {
    expect(String(escapeHtml`${0}|${1.5}|${undefined}|${''}|${[]}`)).toBe('0|1.5|||');
  });

  it('lets no sign through that could begin or end a tag, an attribute or a reference', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const inside = String(escapeHtml`[${text}]`).slice(1, -1);
        expect(inside).not.toMatch(/[<>"'`]|&(?!(?:amp|lt|gt|quot|#39|#96);)/);
      }),
    );
  });
});
