import { useState } from 'react';
import { post } from '../../api/client';
import { sendOnce } from '../../api/send-once';
import { useMay } from '../../api/session';
import type { Data, EmailContent, EmailDetail } from '../../api/types';
import { Button, CopyButton } from '../../parts/button';
import { useChange, useGoOn } from '../../parts/change';
import { Confirm } from '../../parts/dialog';
import { plural } from '../../parts/format';
import { useNow } from '../../parts/text';
import { toCurl } from './to-curl';

const MINUTE_MS = 60_000;
const CANCELLABLE = ['scheduled', 'queued'];

interface Props {
  readonly email: EmailDetail;
  /** Undefined once it is not kept any more: then it cannot be sent again either. */
  readonly content: EmailContent | undefined;
}

export function EmailActions({ email, content }: Props) {
  const may = useMay();
  const [asks, setAsks] = useState<'cancel' | 'resend'>();
  const close = () => setAsks(undefined);
  const isCancellable = CANCELLABLE.includes(email.status);
  return (
    <>
      <CopyAsCurl email={email} content={content} />
      {may('email:send') && content !== undefined && !isCancellable && (
        <Button icon="refresh" onClick={() => setAsks('resend')}>
          Send as new
        </Button>
      )}
      {may('email:send') && isCancellable && (
        <Button kind="danger" onClick={() => setAsks('cancel')}>
          Cancel
        </Button>
      )}
      {asks === 'cancel' && <CancelDialog email={email} onClose={close} />}
      {asks === 'resend' && <ResendDialog email={email} onClose={close} />}
    </>
  );
}

/** The command would be refused without a content. */
function CopyAsCurl({ email, content }: Props) {
  const nowMs = useNow(MINUTE_MS);
  if (content === undefined) {
    return (
      <Button kind="quiet" small icon="copy" disabled title="The command needs the content, which is no longer stored">
        Copy as curl
      </Button>
    );
  }
  const { length } = content.attachments;
  const without = length === 0 ? '' : ` without its ${plural(length, 'attachment')}`;
  return (
    <CopyButton
      text={toCurl(email, content, { origin: window.location.origin, nowMs })}
      what={`the email${without} as a curl command`}
      label="Copy as curl"
    />
  );
}

interface DialogProps {
  readonly email: EmailDetail;
  readonly onClose: () => void;
}

function CancelDialog({ email: { id, recipients }, onClose }: DialogProps) {
  const change = useChange();
  return (
    <Confirm
      title="Cancel this email?"
      action="Cancel the email"
      onConfirm={() =>
        change(post(`/v1/emails/${id}/cancel`), {
          refresh: ['email', 'emails'],
          said: 'Cancelled: nobody will receive it',
        })
      }
      onClose={onClose}
    >
      <p>
        {plural(recipients.length, 'recipient')} will not receive it. This cannot be undone; you can only send it again.
      </p>
    </Confirm>
  );
}

function ResendDialog({ email: { id, recipients }, onClose }: DialogProps) {
  const change = useChange();
  const goOn = useGoOn();
  const resend = async () => {
    const { data } = await change(sendOnce<Data<{ id: string }>>(`/v1/emails/${id}/resend`), {
      refresh: ['email', 'emails'],
      said: 'Accepted as a new email',
    });
    goOn(`/emails/${data.id}`);
  };
  return (
    <Confirm title="Send this email again?" action="Send it again" onConfirm={resend} onClose={onClose}>
      <p>
        {plural(recipients.length, 'recipient')} will receive it once more, as a new email with what this one said.
        Suppressed recipients are left out. It can be cancelled until a worker takes it.
      </p>
    </Confirm>
  );
}
