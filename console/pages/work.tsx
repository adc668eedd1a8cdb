import type { GetRecordsQuery, LedgerRecord } from '../../sdk/generated/api.ts'
import { useAsked } from '../asking.ts'
import { WORK_ROWS_MAX } from '../limits.ts'
import { Agent, Failure, Page, Section } from '../parts/basics.tsx'
import { Records } from '../parts/records.tsx'
import { Steps, stepsOf } from '../parts/steps.tsx'
import { has, type Session } from '../session.ts'

/** Gated work in which the next step is for the agent of this key. */
export function WorkPage({ session }: { session: Session }) {
  const { ledger, names } = session
  const me = ledger.key.agent
  return (
    <Page title="Waiting for me">
      <p>
        Gated work that waits for <Agent id={me} names={names} />, oldest first.
      </p>
      {!has(session, 'records:write') && (
        <p class="note">
          This key only reads. Verdicts need a key of this agent with <code>records:write</code>:{' '}
          <code>tallystick keys create NAME --agent {me} --scopes records:read,audit:read,records:write</code>
        </p>
      )}
      <Waiting
        title="For my verdict"
        session={session}
        queries={[
          { principal: me, state: 'VERIFIED' },
          { principal: me, state: 'DISCREPANT' },
        ]}
      />
      <Waiting title="Offered to me" session={session} queries={[{ performer: me, state: 'CREATED' }]} />
      <Waiting title="Taken on by me" session={session} queries={[{ performer: me, state: 'ACTIVE' }]} />
      <Waiting
        title="Ordered by me, not taken on yet"
        session={session}
        queries={[{ principal: me, state: 'CREATED' }]}
      />
    </Page>
  )
}

function Waiting({
  title,
  session,
  queries,
}: {
  title: string
  session: Session
  queries: readonly GetRecordsQuery[]
}) {
  const { client } = session
  const asked = useAsked(async (signal) => {
    const lists = queries.map((query) =>
      client.records.list({ ...query, order: 'asc', limit: WORK_ROWS_MAX }, { signal }).page(),
    )
    return (await Promise.all(lists)).flatMap(({ data }) => data)
  }, queries)
  const { data, error, reload } = asked
  if (error !== null) return <Failure error={error} />
  const records: readonly LedgerRecord[] = data ?? []
  const mine = records.filter((record) => stepsOf(session, record).length > 0)
  return (
    <Section title={`${title}: ${data === null ? '…' : records.length}`}>
      <Records caption={title} records={records} session={session} empty="Nothing." />
      {mine.map((record) => (
        <details key={record.id}>
          <summary>Decide about {record.id}</summary>
          <Steps session={session} record={record} done={reload} />
        </details>
      ))}
    </Section>
  )
}
