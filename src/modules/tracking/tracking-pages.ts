import type { ErrorCode } from '../../common/errors/error-codes';
import { escapeHtml, type Markup, pageFrame } from '../../common/http/html-page';
import type { Subscription } from './unsubscribe.service';

/** Asks before anything happens: mail programs and filters open every link, people press buttons. */
export function questionPage({ senderDomain, maskedAddress }: Subscription): string {
  // A relative action: it leads back here under whatever path the page was reached.
  return pageFrame(
    'Unsubscribe?',
    escapeHtml`<p>Shall <bdi>${maskedAddress}</bdi> get no more mailings from <bdi>${senderDomain}</bdi>?</p>
      <form method="post" action="?via=page"><button type="submit">Unsubscribe</button></form>`,
  );
}

export function donePage({ senderDomain, maskedAddress }: Subscription): string {
  return pageFrame(
    'Unsubscribed',
    escapeHtml`<p><bdi>${maskedAddress}</bdi> gets no more mailings from <bdi>${senderDomain}</bdi>.</p>
      <p>Mail that belongs to something you do there, such as a receipt or a new password, may still arrive.</p>`,
  );
}

export function problemPage(code: ErrorCode): string {
  if (code === 'resource_not_found') return pageFrame('This link does not work', NOT_FOUND);
  return pageFrame('That did not work', FAILED);
}

const NOT_FOUND: Markup = escapeHtml`<p>It is not complete, or the mail that it belongs to is no longer on record.</p>
      <p>Copy the whole link, use the one in a newer mail, or answer the sender.</p>`;

const FAILED: Markup = escapeHtml`<p>Nothing has changed. Please try again in a few minutes.</p>`;

/** What a tracked link shows whose token is not genuine. */
export const BROKEN_LINK_PAGE = pageFrame(
  'This link does not work',
  escapeHtml`<p>It is not complete, or it has been changed on the way.</p>
      <p>Copy the whole link from the mail, or ask its sender.</p>`,
);
