import { useQueryClient } from '@tanstack/react-query';
import { type MouseEvent, useEffect, useRef, useState } from 'react';
import { post } from '../../api/client';
import type { Data, ImportedFile } from '../../api/types';
import { Button } from '../../parts/button';
import { download, readText, toCsv } from '../../parts/csv';
import { Dialog } from '../../parts/dialog';
import { bound, SelectField } from '../../parts/field';
import { count } from '../../parts/format';
import { InlineError } from '../../parts/states';
import { Foreign } from '../../parts/text';

const MAX_BYTES = 10 * 1024 * 1024;
const FORMS = [
  { value: 'waybill', label: 'Waybill, or a plain list' },
  { value: 'ses', label: 'Amazon SES' },
  { value: 'postmark', label: 'Postmark' },
  { value: 'mailgun', label: 'Mailgun' },
  { value: 'sendgrid', label: 'SendGrid' },
  { value: 'resend', label: 'Resend' },
];

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [from, setFrom] = useState('waybill');
  const [file, setFile] = useState<File>();
  const [busy, setBusy] = useState(false);
  const [report, setReport] = useState<ImportedFile>();
  const [error, setError] = useState<unknown>();

  const chooseFormat = (format: string) => {
    setReport(undefined);
    setFrom(format);
  };
  const choose = (chosen: File | undefined) => {
    setError(undefined);
    setReport(undefined);
    setFile(chosen);
  };
  /** A file that has been corrected has the name of the one before, of which the browser would tell no change. */
  const askAnew = ({ currentTarget }: MouseEvent<HTMLInputElement>) => {
    currentTarget.value = '';
    if (!report) choose(undefined);
  };
  const run = async () => {
    if (!file) return;
    setBusy(true);
    setError(undefined);
    try {
      if (file.size > MAX_BYTES) throw new Error('The file is larger than 10 MiB: split it, and repeat the head line');
      const { data } = await post<Data<ImportedFile>>('/v1/suppressions/import', { from, csv: await readText(file) });
      setReport(data);
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
    await client.invalidateQueries({ queryKey: ['suppressions'] });
  };
  return (
    <Dialog title="Import addresses" onClose={onClose} busy={busy}>
      <div className="stack">
        <SelectField label="The file is from" {...bound(from, chooseFormat)} options={FORMS} disabled={busy} />
        <p>
          {from === 'waybill' ? (
            <>
              A CSV file of address, reason (<code>manual</code> or <code>unsubscribe</code>) and notes; only the
              address is needed.
            </>
          ) : (
            'The CSV file as that service exports it. Bounces and complaints become manual entries, which you can remove.'
          )}
        </p>
        <div className="field">
          <label htmlFor="import-file">File</label>
          <input
            id="import-file"
            type="file"
            accept=".csv,.txt,text/csv,text/plain"
            disabled={busy}
            onClick={askAnew}
            onChange={(event) => choose(event.target.files?.[0])}
          />
        </div>
        {busy && <progress aria-label="The import is running" />}
        <InlineError error={error} />
        {report && <ReportOf report={report} />}
      </div>
      <div className="dialog-actions">
        <Button onClick={onClose} disabled={busy}>
          Close
        </Button>
        {!report && (
          <Button kind="primary" busy={busy} disabled={!file} onClick={run}>
            {busy ? 'Importing' : 'Import'}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function ReportOf({ report: { added, duplicates, invalid, refused } }: { report: ImportedFile }) {
  const box = useRef<HTMLDivElement>(null);
  // The button that had the focus is gone.
  useEffect(() => box.current?.focus(), []);
  const isEmpty = added + duplicates + invalid === 0;
  return (
    <div ref={box} tabIndex={-1} className={`notice ${isEmpty || invalid > 0 ? 'warn' : 'good'}`} role="status">
      <div>
        <strong>
          {isEmpty ? 'There are no addresses in this file' : `${count(added)} added, ${count(invalid)} refused`}
        </strong>
        {duplicates > 0 && <p>{count(duplicates)} listed already.</p>}
        <ul>
          {refused.slice(0, 10).map(({ line, email, error }) => (
            <li key={line}>
              Line {count(line)}: {email && <Foreign>{email}</Foreign>} {error}
            </li>
          ))}
        </ul>
        {invalid > 10 && <p>And {count(invalid - 10)} more.</p>}
      </div>
      {refused.length > 0 && (
        <Button onClick={() => download('not-imported.csv', refusedCsv(refused, invalid))}>
          {invalid > refused.length ? `Download the first ${count(refused.length)} refused` : 'Download the refused'}
        </Button>
      )}
    </div>
  );
}

/** The service names the first refused lines only; the last row says how many more there are. */
function refusedCsv(refused: ImportedFile['refused'], invalid: number): string {
  const more = invalid - refused.length;
  return toCsv([
    ['line', 'email', 'error'],
    ...refused.map(({ line, email, error }) => [String(line), email ?? '', error]),
    ...(more > 0 ? [['', '', `${count(more)} more lines were refused, which are not listed here`]] : []),
  ]);
}
