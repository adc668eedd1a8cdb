import type { GetRecordsQuery, LedgerRecord } from '../../sdk/generated/api.ts'
import { WORK_ROWS_MAX } from '../limits.ts'
import { Agent, Json, Page, Section, Shown, State, Time } from '../parts/basics.tsx'
import { membersOf, shorten, summaryOf } from '../parts/records.tsx'
import { Steps } from '../parts/steps.tsx'
import { useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import { has, type Session } from '../session.ts'

/**
 * Groups of waiting gated work. `mine`: roles of the agent that takes the next step. `none`: text for an empty group,
 * or null to hide an empty group.
 */
const WAITS = [
  {
    title: 'Needs a verdict',
    none: 'Nothing waits for a verdict.',
    states: ['VERIFIED', 'DISCREPANT'],
    mine: ['principal'],
  },
  {
    title: 'Not accepted yet',
    none: 'Nothing waits for a performer.',
    states: ['CREATED'],
    mine: ['performer', 'principal'],
  },
  { title: 'In progress', none: 'Nothing is in progress.', states: ['ACTIVE'], mine: ['performer'] },
  {
    title: 'The server is checking',
    none: null,
    states: ['SUBMITTED'],
    mine: ['principal', 'performer'],
  },
] as const

type Wait = (typeof WAITS)[number]

type WaitingWork = Wait & { readonly records: readonly LedgerRecord[]; readonly isWhole: boolean }

/**
 * Shows waiting gated work, oldest first. Each row has the buttons for the possible decisions. `for=me`: only work that
 * waits for the agent of this key.
 */
export function WorkPage({ session, query }: { session: Session; query: URLSearchParams }) {
  const { ledger, names } = session
  const isMine = query.get('for') === 'me'
  const me = ledger.key.agent
  const asked = useQuery(
    (signal) => Promise.all(WAITS.map((wait) => readWaiting(session, wait, isMine ? me : null, signal))),
    [me, isMine],
  )
  return (
    <Page title="Waiting">
      <p class="row">
        <a class="button" href={linkTo('work')} {...(!isMine && { 'aria-current': 'true' })}>
          For everybody
        </a>
        <a
          class="button"
          href={linkTo('work', '', { for: 'me' })}
          {...(isMine && { 'aria-current': 'true' })}
        >
          For me
        </a>
        {isMine && (
          <span>
            Next steps of <Agent id={me} names={names} />
          </span>
        )}
      </p>
      {!has(session, 'records:write') && (
        <p class="quiet">
          This key can only read. The principal of the work decides, with a key that has{' '}
          <code>records:write</code>.
        </p>
      )}
      <Shown of={asked}>
        {(all) =>
          all
            .filter(({ records, none }) => records.length > 0 || none !== null)
            .map((waiting) => (
              <Works key={waiting.title} waiting={waiting} session={session} reload={asked.reload} />
            ))
        }
      </Shown>
    </Page>
  )
}

/** Reads one group. `me`: an agent, to read only work whose next step this agent takes. With null, reads all work. */
async function readWaiting(
  { client }: Session,
  wait: Wait,
  me: string | null,
  signal: AbortSignal,
): Promise<WaitingWork> {
  const parts: GetRecordsQuery[] = me === null ? [{}] : wait.mine.map((part) => ({ [part]: me }))
  const queries = wait.states.flatMap((state) => parts.map((part) => ({ ...part, state })))
  const lists = queries.map((query) =>
    client.records
      .list({ ...query, order: 'asc', limit: WORK_ROWS_MAX }, { signal })
      .toArray(WORK_ROWS_MAX + 1),
  )
  const found = new Map((await Promise.all(lists)).flat().map((record) => [record.id, record]))
  const records = [...found.values()].sort((one, other) => one.entry.seq - other.entry.seq)
  return { ...wait, records: records.slice(0, WORK_ROWS_MAX), isWhole: records.length <= WORK_ROWS_MAX }
}

function Works({
  waiting: { title, none, records, isWhole },
  session,
  reload,
}: {
  waiting: WaitingWork
  session: Session
  reload: () => void
}) {
  return (
    <Section title={`${title}: ${isWhole ? '' : 'more than '}${records.length}`}>
      {records.length === 0 && <p class="quiet">{none}</p>}
      <ol class="works">
        {records.map((record) => (
          <Work key={record.id} record={record} session={session} reload={reload} />
        ))}
      </ol>
    </Section>
  )
}

/** Shows one gated record: payload, delivery, who must act, and the steps that this key may take. */
function Work({ record, session, reload }: { record: LedgerRecord; session: Session; reload: () => void }) {
  const { id, type, payload, gated } = record
  const { principal, performer, deadline, completion, verification, revision } = gated!
  const agent = (one: string) => <Agent id={one} names={session.names} />
  const newest = [record, completion, verification, revision]
    .filter((step) => step !== null)
    .reduce((one, other) => (other.recordedAt > one.recordedAt ? other : one))
  return (
    <li>
      <h3>
        <a href={linkTo('record', id)}>{summaryOf(record)}</a>
      </h3>
      {completion && (
        <p>
          Delivered:{' '}
          {completion.evidence === null ? 'only its digest is here' : shorten(membersOf(completion.evidence))}
        </p>
      )}
      {verification && (
        <p>
          Rules:{' '}
          <State state={verification.outcome} tone={verification.outcome === 'pass' ? 'good' : 'bad'} />{' '}
          {verification.rules
            .filter(({ outcome }) => outcome !== 'pass')
            .map(({ id, code }) => `${id} ${code ?? ''}`)
            .join(', ')}
        </p>
      )}
      {revision?.reason && <p>Revision requested: {shorten(revision.reason)}</p>}
      <p class="quiet">
        {newest === record ? 'Made' : 'Since'} <Time at={newest.recordedAt} />, {type}, for {agent(principal)}
        , by {performer === null ? 'nobody yet' : agent(performer)}
        {deadline && (
          <>
            , due <Time at={deadline} />
          </>
        )}
      </p>
      {completion && (
        <details>
          <summary>Agreed and delivered, in full</summary>
          <div class="two">
            <Json value={payload} label="Agreed" />
            <Json value={completion.evidence} label="Delivered" />
          </div>
        </details>
      )}
      <Steps session={session} record={record} done={reload} />
    </li>
  )
}
