import { useState } from 'react';
import { post } from '../../api/client';
import { useChange } from '../../parts/change';
import { FormDialog } from '../../parts/dialog';
import { Check, SelectField, TextField } from '../../parts/field';

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
          <TextField
            label="Address of the person"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            error={said('email')}
          />
          <SelectField
            label="Format"
            value={format}
            options={[
              { value: 'json', label: 'JSON' },
              { value: 'csv', label: 'CSV' },
            ]}
            onChange={({ target }) => setFormat(target.value)}
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
          <TextField
            label="Address of the person"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            error={said('email')}
          />
          <TextField
            label="Reason"
            value={reason}
            maxLength={500}
            onChange={(event) => setReason(event.target.value)}
            error={said('reason')}
          />
          <Check
            label="I know that there is no way back"
            note="Contents, addresses and event data of this person are erased from all emails. Statistics stay; what has to be kept is named in the receipt."
            checked={sure}
            onChange={setSure}
          />
        </>
      )}
    </FormDialog>
  );
}
