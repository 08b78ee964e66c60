import { useState } from 'react';
import { post } from '../../api/client';
import { useChange } from '../../parts/change';
import { FormDialog } from '../../parts/dialog';
import { bound, Check, SelectField, TextField } from '../../parts/field';

export function AskExport({ onClose }: { onClose: () => void }) {
  const change = useChange();
  const [email, setEmail] = useState('');
  const [format, setFormat] = useState('json');
  return (
    <FormDialog
      title="Export a person's data"
      action="Export"
      onClose={onClose}
      onSubmit={() =>
        change(post('/v1/gdpr/export', { email: email.trim(), format }), {
          refresh: ['privacy'],
          said: 'The export has begun',
        })
      }
    >
      {(said) => (
        <>
          <TextField label="Address of the person" required {...bound(email, setEmail, said('email'))} />
          <SelectField
            label="Format"
            {...bound(format, setFormat)}
            options={[
              { value: 'json', label: 'JSON' },
              { value: 'csv', label: 'CSV' },
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

export function AskErasure({ onClose }: { onClose: () => void }) {
  const change = useChange();
  const [email, setEmail] = useState('');
  const [reason, setReason] = useState('');
  const [sure, setSure] = useState(false);
  const body = { email: email.trim(), confirmDelete: true, ...(reason && { reason }) };
  return (
    <FormDialog
      title="Erase a person's data"
      action="Erase"
      isDangerous
      disabled={!sure}
      onClose={onClose}
      onSubmit={() =>
        change(post('/v1/gdpr/delete-request', body), { refresh: ['privacy'], said: 'The erasure has begun' })
      }
    >
      {(said) => (
        <>
          <TextField label="Address of the person" required {...bound(email, setEmail, said('email'))} />
          <TextField label="Reason" {...bound(reason, setReason, said('reason'))} maxLength={500} />
          <Check
            label="I understand that this cannot be undone"
            note="Contents, addresses and event data of this person are erased from all emails. Statistics stay; what has to be kept is named in the receipt."
            checked={sure}
            onChange={setSure}
          />
        </>
      )}
    </FormDialog>
  );
}
