import { useEffect, useState } from 'preact/hooks'
import { PermissionError } from '../../sdk/errors.ts'
import type { LedgerRecord } from '../../sdk/generated/api.ts'
import type { RecordEntry } from '../../sdk/resources/records.ts'
import { SHOWN_OTHERS } from '../../src/proof/statement/record-members.ts'
import { STEPS_MAX } from '../limits.ts'
import { Agent, Facts, Failure, Id, Json, Page, Section, Shown, State, Time } from '../parts/basics.tsx'
import { DownloadBundle } from '../parts/download-bundle.tsx'
import { Envelope } from '../parts/envelope.tsx'
import { Decision } from '../parts/records.tsx'
import { Next } from '../parts/steps.tsx'
import { VerdictSection } from '../parts/verdict.tsx'
import { useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'
import { keyOf, readTrust, storeTrust } from '../trust.ts'
import type { RecordVerdict } from '../verifier.ts'

/** Shows a record with its state, its verification and all of its entries. */
export function RecordPage({ session, id, query }: { session: Session; id: string; query: URLSearchParams }) {
  const peer = query.get('peer') ?? undefined
  const asked = useQuery((signal) => session.client.records.get(id, { peer, signal }), [id, peer])
  return (
    <Page
      title={
        <>
          Record <Id id={id} />
        </>
      }
    >
      <Shown of={asked}>
        {(record) => (
          <>
            <VerdictOfRecord session={session} record={record} />
            <div class="two">
              <Status session={session} record={record} />
              {record.gated === null ? (
                <Payload record={record} />
              ) : (
                <Judged session={session} record={record} />
              )}
            </div>
            {record.gated !== null && (
              <div class="two">
                <Payload record={record} />
                <Delivered session={session} record={record} />
              </div>
            )}
            {record.nextEvents.length > 0 && <Next session={session} record={record} done={asked.reload} />}
            <Timeline session={session} record={record} peer={peer} />
          </>
        )}
      </Shown>
    </Page>
  )
}

function VerdictOfRecord({ session, record }: { session: Session; record: LedgerRecord }) {
  const { client, ledger } = session
  const [verdict, setVerdict] = useState<RecordVerdict | null>(null)
  const [error, setError] = useState<Error | null>(null)
  useEffect(() => {
    let isCurrent = true
    const verify = async () => {
      const { verifyRecord } = await import('../verifier.ts')
      const key = keyOf(ledger)
      const found = await verifyRecord(client, record, {
        key,
        checkpoint: readTrust(ledger.id)?.checkpoint ?? null,
      })
      if (!isCurrent) return
      setVerdict(found)
      const { noteKey, isGiven } = key
      if (found.checkpoint !== null) storeTrust(ledger.id, { noteKey, isGiven, checkpoint: found.checkpoint })
    }
    setVerdict(null)
    setError(null)
    verify().catch((failure: Error) => {
      if (isCurrent) setError(failure)
    })
    return () => {
      isCurrent = false
    }
  }, [record])
  if (record.ledger !== ledger.id) {
    return (
      <p class="note">
        A record of the ledger <code>{record.ledger}</code>: only its home can make a bundle of it that
        verifies.
      </p>
    )
  }
  if (error !== null) return <Failure error={error} />
  if (verdict === null) {
    return (
      <section class="card verdict" role="status">
        <h2>Verifying in this browser…</h2>
      </section>
    )
  }
  return (
    <VerdictSection verdict={verdict}>
      {verdict.bundle !== null && <DownloadBundle name={`${record.id}.bundle`} lines={verdict.bundle} />}
    </VerdictSection>
  )
}

function Status({ session, record }: { session: Session; record: LedgerRecord }) {
  const { names } = session
  const { gated, parent, batch, entry, erasure } = record
  const agent = (id: string | null | undefined) => (id == null ? null : <Agent id={id} names={names} />)
  return (
    <Section title="State">
      <Facts
        facts={[
          ['State', <State key="state" state={record.state} />],
          ['Type', <code key="type">{record.type}</code>],
          ['By', agent(record.actor)],
          [
            'Decided by',
            record.type === 'approval/1' ? <Decision session={session} record={record} /> : null,
          ],
          ['On behalf of', agent(record.onBehalfOf)],
          ['Principal', agent(gated?.principal)],
          ['Performer', gated === null ? null : (agent(gated.performer) ?? 'nobody yet')],
          ['Gate', gated?.gate],
          ['Deadline', gated?.deadline ? <Time at={gated.deadline} /> : null],
          ['Recorded', <Time key="recorded" at={record.recordedAt} />],
          [
            'Occurred',
            record.occurredAt === null ? null : (
              <>
                <Time at={record.occurredAt} /> (a claim)
              </>
            ),
          ],
          [
            'Newest entry',
            <>
              <a href={linkTo('entry', `${entry.seq}`)}>{entry.seq}</a> {entry.kind}
            </>,
          ],
          ['Signed by', entry.signedBy],
          ['Parent', parent === null ? null : <Id id={parent} to={linkTo('record', parent)} short />],
          ['Batch', batch === null ? null : <Id id={batch} short />],
          ...SHOWN_OTHERS.map((name) => [name, record[name]] as [string, string | null]),
          ['References', record.references && <References references={record.references} />],
          [
            'Erased',
            erasure && (
              <>
                by {agent(erasure.by)}, <Time at={erasure.recordedAt} />, {erasure.code ?? 'no code'},{' '}
                <a href={linkTo('entry', `${erasure.seq}`)}>entry {erasure.seq}</a>
              </>
            ),
          ],
          [
            'Run',
            <>
              <a href={linkTo('run', record.id)}>tree of its run</a>
              {record.type === 'agent-action/1' && ': how it ended, and who decided'}
            </>,
          ],
        ]}
      />
    </Section>
  )
}

function References({ references }: { references: readonly string[] }) {
  return (
    <>
      {references.map((reference) => (
        <div key={reference}>
          <a href={linkTo('search', '', { reference })}>{reference}</a>
        </div>
      ))}
    </>
  )
}

function Payload({ record: { payload, digest, salt, metadata, gated } }: { record: LedgerRecord }) {
  return (
    <Section title={gated === null ? 'Payload' : 'Agreed (the payload)'}>
      {payload === null ? (
        <p class="quiet">Not here: only its digest is.</p>
      ) : (
        <Json value={payload} label="Payload" />
      )}
      <Facts
        facts={[
          ['Digest', <Id key="digest" id={digest} />],
          ['Salt', salt === null ? null : <code>{salt}</code>],
        ]}
      />
      {metadata !== null && (
        <>
          <h3>Metadata (not signed)</h3>
          <Json value={metadata} label="Metadata" />
        </>
      )}
    </Section>
  )
}

function Delivered({ session: { names }, record: { gated } }: { session: Session; record: LedgerRecord }) {
  const { completion } = gated!
  if (completion === null) {
    return (
      <Section title="Delivered">
        <p class="quiet">Nothing yet.</p>
      </Section>
    )
  }
  const { evidence, digest, salt, by, recordedAt } = completion
  return (
    <Section title="Delivered">
      {evidence === null ? (
        <p class="quiet">Not here: only its digest is.</p>
      ) : (
        <Json value={evidence} label="Delivered" />
      )}
      <Facts
        facts={[
          ['Digest', digest && <Id id={digest} />],
          ['Salt', salt && <code>{salt}</code>],
          [
            'Delivered by',
            <>
              <Agent id={by} names={names} />, <Time at={recordedAt} />
            </>,
          ],
        ]}
      />
    </Section>
  )
}

/** Shows the results of the rules, and the verdict. */
function Judged({ session: { names }, record: { gated } }: { session: Session; record: LedgerRecord }) {
  const { verification, verdict, overturn, revision, cancellation, tolerances, revisions, maxRevisions } =
    gated!
  const agent = (id: string) => <Agent id={id} names={names} />
  const rules = (verification?.rules ?? []).map(
    ({ id, outcome, code }) =>
      [
        `Rule ${id}`,
        <>
          <State state={outcome} tone={toneOf(outcome)} /> {code}
        </>,
      ] as const,
  )
  return (
    <Section title="Judged">
      <Facts
        facts={[
          [
            'Rules',
            verification === null ? (
              'not checked yet'
            ) : (
              <State state={verification.outcome} tone={toneOf(verification.outcome)} />
            ),
          ],
          ...rules,
          [
            'Verdict',
            verdict && (
              <>
                <State state={verdict.verdict} tone={toneOf(verdict.verdict)} /> by {agent(verdict.by)}
              </>
            ),
          ],
          [
            'Signal',
            verdict && (
              <>
                <State state={verdict.signal.decision} /> {verdict.signal.code}
              </>
            ),
          ],
          ['Reason', verdict?.reason],
          [
            'Overturned',
            overturn && (
              <>
                <State state={overturn.signal.decision} /> by {agent(overturn.by)}: {overturn.reason}
              </>
            ),
          ],
          ['Revisions', `${revisions} of ${maxRevisions}`],
          ['Revision requested', revision?.reason],
          ['Cancelled', cancellation && (cancellation.reason ?? 'without a reason')],
          ['Tolerances', tolerances && <Json value={tolerances} label="Tolerances" />],
        ]}
      />
    </Section>
  )
}

function toneOf(word: string): 'good' | 'bad' {
  return word === 'pass' || word === 'accept' ? 'good' : 'bad'
}

function Timeline({
  session,
  record,
  peer,
}: {
  session: Session
  record: LedgerRecord
  peer: string | undefined
}) {
  const { client } = session
  const entries = useQuery(
    async (signal) => {
      const steps = await client.records.entries(record.id, { peer, signal }).toArray(STEPS_MAX)
      const own =
        record.ledger === session.ledger.id ? await readErasures(session, record, steps, signal) : []
      return [...steps, ...own].sort((one, other) => one.seq - other.seq)
    },
    [record.id, record.version, record.erasure, peer],
  )
  return (
    <Section title="Timeline">
      <Shown of={entries}>
        {(found) => (
          <ol class="steps">
            {found.map((entry) => (
              <Entry key={entry.seq} entry={entry} />
            ))}
          </ol>
        )}
      </Shown>
    </Section>
  )
}

/**
 * Returns the entries that erased documents of the record. They are read separately, because they are not among the
 * record's own entries. Returns an empty list if the key may not read them.
 */
async function readErasures(
  { client }: Session,
  { erasure }: LedgerRecord,
  steps: readonly RecordEntry[],
  signal: AbortSignal,
): Promise<RecordEntry[]> {
  const seqs = new Set([erasure?.seq, ...steps.map(({ document }) => document?.erasedBy)])
  const read = async (seq: number): Promise<RecordEntry[]> => {
    for await (const { signer, ...entry } of client.entries.stream({ after: seq - 1, limit: 1, signal }))
      return [{ ...entry, signedBy: signer ? 'agent' : 'server', document: null }]
    return []
  }
  const found = await Promise.all(
    [...seqs]
      .filter((seq) => seq != null)
      .map((seq) =>
        read(seq).catch((error: Error) => {
          if (error instanceof PermissionError) return []
          throw error
        }),
      ),
  )
  return found.flat()
}

function Entry({ entry }: { entry: RecordEntry }) {
  const { seq, kind, recordedAt, signedBy, document, leaf, envelope, received } = entry
  return (
    <li class={signedBy === 'agent' ? 'agent' : ''}>
      <div class="head">
        <strong>{kind}</strong>
        <a href={linkTo('entry', `${seq}`)}>entry {seq}</a>
        {signedBy && <span>signed by the {signedBy}</span>}
        <Time at={recordedAt} />
        <Id id={leaf} short />
      </div>
      {!isEmpty(document?.document) && (
        <Json value={document!.document} label={`Document of ${kind}, entry ${seq}`} />
      )}
      {document?.erasedBy != null && (
        <p class="quiet">
          Its document was erased by{' '}
          <a href={linkTo('entry', `${document.erasedBy}`)}>entry {document.erasedBy}</a>.
        </p>
      )}
      <Envelope envelope={received ?? envelope} label={`${kind}, entry ${seq}`} />
    </li>
  )
}

/**
 * Returns true for null and for an empty list. If no rule compared anything, the document with the compared values is
 * an empty list.
 */
function isEmpty(document: unknown): boolean {
  return document == null || (Array.isArray(document) && document.length === 0)
}
