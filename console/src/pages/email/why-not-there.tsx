import type { EmailDetail, EmailRecipient } from '../../api/types';
import { whyItEnded, whyItWaits, type Why } from '../../parts/email-words';
import { plural } from '../../parts/format';
import { PageLink } from '../../parts/rights';
import { Suppressed } from '../../parts/suppressed';
import { Foreign, Moment, Time } from '../../parts/text';

/** Of more recipients only the number is said. */
const SHOWN = 5;

/** Above the page: why copies have ended without arriving, and why others wait. */
export function WhyNotThere({ email }: { email: EmailDetail }) {
  return (
    <>
      <Ended email={email} />
      <Waits email={email} />
    </>
  );
}

/** The cause in plain words, and whether mail to the address is stopped from now on. */
function Ended({ email }: { email: EmailDetail }) {
  const ended = email.recipients.flatMap((recipient) => {
    const why = whyItEnded(email, recipient);
    return why === undefined ? [] : [{ recipient, why }];
  });
  if (ended.length === 0) return null;
  return (
    <section className="notice bad" aria-label="Why it did not arrive">
      <div className="stack">
        <strong>Why it did not arrive</strong>
        {ended.slice(0, SHOWN).map(({ recipient: { kind, email: address }, why }) => (
          <div key={`${kind} ${address}`} className="break">
            <p>
              <Foreign>{address}</Foreign>: <Foreign>{why}</Foreign>
            </p>
            <Suppressed email={address} />
          </div>
        ))}
        {ended.length > SHOWN && <p>And {plural(ended.length - SHOWN, 'more recipient')}.</p>}
      </div>
    </section>
  );
}

/** Why it waits, until when, and what to do, for each recipient whose copy is still on its way. */
function Waits({ email }: { email: EmailDetail }) {
  const open = email.recipients.flatMap((recipient) => {
    const why = whyItWaits(email, recipient);
    return why ? [{ recipient, why }] : [];
  });
  if (open.length === 0) return null;
  return (
    <section className="notice" aria-label="Why it waits">
      <div className="stack">
        <strong>Why it waits</strong>
        {open.slice(0, SHOWN).map(({ recipient, why }) => (
          <WhyOne key={`${recipient.kind} ${recipient.email}`} recipient={recipient} why={why} />
        ))}
        {open.length > SHOWN && <p>And {plural(open.length - SHOWN, 'more recipient')}.</p>}
      </div>
    </section>
  );
}

function WhyOne({ recipient, why }: { recipient: EmailRecipient; why: Why }) {
  const { endsAt, waiting } = recipient;
  const { because, until, advice } = why;
  return (
    <div>
      <p>
        <Foreign>{recipient.email}</Foreign>: <Foreign>{because}</Foreign>
      </p>
      <p className="hint">
        {until && (
          <>
            {waiting?.reason === 'scheduled' ? 'It is sent' : 'Next attempt'} <Time at={until} />, <Moment at={until} />
            .{' '}
          </>
        )}
        {advice}
        {waiting?.reason === 'domain_paused' && (
          <>
            {' '}
            <PageLink scope="domain:read" to="/domains" otherwise={null}>
              Go to the domains
            </PageLink>
          </>
        )}
        {endsAt && (
          <>
            {' '}
            It expires <Moment at={endsAt} />.
          </>
        )}
      </p>
    </div>
  );
}
