import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { post } from '../../api/client';
import type { Data, SuppressionBatch } from '../../api/types';
import { Button } from '../../parts/button';
import { download, toCsv } from '../../parts/csv';
import { Dialog } from '../../parts/dialog';
import { count, plural } from '../../parts/format';
import { InlineError } from '../../parts/states';
import { type Entry, toEntries } from './to-entries';

interface Refused {
  readonly email: string;
  readonly error: string;
}

interface Report {
  readonly added: number;
  readonly refused: readonly Refused[];
}

/** What one request may hold. */
const BATCH = 1_000;

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [done, setDone] = useState(0);
  const [busy, setBusy] = useState(false);
  const [report, setReport] = useState<Report>();
  const [error, setError] = useState<unknown>();

  const read = async (file: File | undefined) => {
    setError(undefined);
    setReport(undefined);
    try {
      setEntries(file ? toEntries(await file.text()) : []);
    } catch (failed) {
      setError(failed);
    }
  };
  const run = async () => {
    setBusy(true);
    let added = 0;
    const refused: Refused[] = [];
    try {
      for (let at = 0; at < entries.length; at += BATCH) {
        const batch = entries.slice(at, at + BATCH);
        const { data } = await post<Data<SuppressionBatch>>('/v1/suppressions/batch', batch);
        added += data.summary.successful;
        for (const { index, error: why } of data.data)
          if (why) refused.push({ email: batch[index]?.email ?? '', error: why });
        setDone(at + batch.length);
      }
    } catch (failed) {
      setError(failed);
    }
    setReport({ added, refused });
    setBusy(false);
    await client.invalidateQueries({ queryKey: ['suppressions'] });
  };
  return (
    <Dialog title="Import addresses" onClose={onClose}>
      <div className="stack">
        <p>
          A CSV file of address, reason (<code>manual</code> or <code>unsubscribe</code>) and notes; only the address is
          needed.
        </p>
        <div className="field">
          <label htmlFor="import-file">File</label>
          <input
            id="import-file"
            type="file"
            accept=".csv,text/csv,text/plain"
            disabled={busy}
            onChange={(event) => void read(event.target.files?.[0])}
          />
        </div>
        {entries.length > 0 && !report && <p>{plural(entries.length, 'address', 'addresses')} to import.</p>}
        {busy && <progress aria-label="Progress of the import" value={done} max={entries.length} />}
        <InlineError error={error} />
        {report && <ReportOf report={report} />}
      </div>
      <div className="dialog-actions">
        <Button onClick={onClose}>Close</Button>
        {!report && (
          <Button kind="primary" busy={busy} disabled={entries.length === 0} onClick={run}>
            {busy ? `${count(done)} of ${count(entries.length)}` : 'Import'}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function ReportOf({ report: { added, refused } }: { report: Report }) {
  return (
    <div className={`notice ${refused.length > 0 ? 'warn' : 'good'}`} role="status">
      <div>
        <strong>
          {count(added)} added, {count(refused.length)} refused
        </strong>
        <ul>
          {refused.slice(0, 10).map(({ email, error }, index) => (
            <li key={index}>
              <bdi>{email || '(empty)'}</bdi>: {error}
            </li>
          ))}
        </ul>
        {refused.length > 10 && <p>And {count(refused.length - 10)} more.</p>}
      </div>
      {refused.length > 0 && (
        <Button
          onClick={() =>
            download(
              'not-imported.csv',
              toCsv([['email', 'error'], ...refused.map(({ email, error }) => [email, error])]),
            )
          }
        >
          Download the refused
        </Button>
      )}
    </div>
  );
}
