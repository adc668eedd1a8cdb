import type { LedgerRecord } from '../../sdk/generated/api.ts'
import { activitiesOfDay, type DayActivity, type Ending } from '../day.ts'
import { DAY_RECORDS_MAX, SCAN_ROWS } from '../limits.ts'
import { go } from '../navigate.ts'
import { Agent, type Column, count, Id, Page, Section, Shown, State, Table, Time } from '../parts/basics.tsx'
import { Decision, Records, Summary } from '../parts/records.tsx'
import { useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'

const DAY_MS = 86_400_000

/** Shows one day of all agents: actions, decisions, failures, and actions without an outcome. */
export function DayPage({ session, query }: { session: Session; query: URLSearchParams }) {
  const day = /^\d{4}-\d\d-\d\d$/.exec(query.get('date') ?? '')?.[0] ?? dayOf(Date.now())
  const asked = useQuery((signal) => readDay(session, day, signal), [day])
  const beside = (days: number) => linkTo('day', '', { date: dayOf(Date.parse(day) + days * DAY_MS) })
  return (
    <Page title={`Day ${day} (UTC)`}>
      <form onSubmit={(event) => event.preventDefault()}>
        <a class="button" href={beside(-1)}>
          Day before
        </a>
        <label>
          Day
          <input
            type="date"
            value={day}
            onChange={({ currentTarget }) =>
              currentTarget.value && go(linkTo('day', '', { date: currentTarget.value }))
            }
          />
        </label>
        <a class="button" href={beside(1)}>
          Day after
        </a>
      </form>
      <Shown of={asked}>{(records) => <Findings session={session} records={records} />}</Shown>
    </Page>
  )
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function readDay({ client }: Session, day: string, signal: AbortSignal): Promise<LedgerRecord[]> {
  const filters = {
    recordedAfter: `${day}T00:00:00Z`,
    recordedBefore: `${dayOf(Date.parse(day) + DAY_MS)}T00:00:00Z`,
  }
  return client.records.list({ ...filters, limit: SCAN_ROWS }, { signal }).toArray(DAY_RECORDS_MAX)
}

function Findings({ session, records }: { session: Session; records: readonly LedgerRecord[] }) {
  const activities = activitiesOfDay(records)
  const actions = activities.filter(({ isRun }) => !isRun)
  const ended = (ending: Ending) => actions.filter((activity) => activity.ending === ending)
  const runs = activities.filter(({ isRun, ending }) => isRun && ending !== 'ok')
  const approved = activities.filter(({ decisions, ending }) => decisions.length > 0 && ending !== 'denied')
  const judged = records.filter(({ gated }) => gated?.verdict || gated?.overturn)
  const list = (title: string, shown: readonly DayActivity[], empty: string) => (
    <Section title={`${title}: ${shown.length}`}>
      <Activities caption={title} activities={shown} session={session} empty={empty} />
    </Section>
  )
  return (
    <>
      <p role="status">
        {count(records.length, 'record')}
        {records.length === DAY_RECORDS_MAX && ': the newest ones of the day, which has more'}.
      </p>
      <p class="quiet">
        An action is a call of a tool or a model. It counts once, with its outcome and the decisions about it.
        Runs of agents are counted separately, because a run fails if an action in it fails.
      </p>
      <Section title="Agents">
        <ByAgent session={session} records={records} activities={activities} />
      </Section>
      {list('Actions denied', ended('denied'), 'Nothing was denied.')}
      {list('Actions failed', ended('error'), 'Nothing has failed.')}
      {list('Actions without an outcome', ended('open'), 'Every action of the day has an outcome.')}
      {list('Actions with an unknown outcome', ended('unclear'), 'None.')}
      {list('Runs that did not end well', runs, 'Every run of the day ended well.')}
      {list('Approved or escalated', approved, 'No approvals.')}
      <Section title={`Verdicts on gated work: ${judged.length}`}>
        <Records
          caption="Verdicts"
          records={judged}
          session={session}
          more={[
            {
              name: 'Judged by',
              cell: ({ gated }) =>
                gated?.verdict ? <Agent id={gated.verdict.by} names={session.names} /> : 'the rules',
            },
            {
              name: 'Signal',
              cell: ({ gated }) => <State state={(gated?.overturn ?? gated?.verdict)!.signal.decision} />,
            },
          ]}
          empty="None on work of this day."
        />
      </Section>
    </>
  )
}

/** Shows a table with one row per activity, with its outcome and its decisions. */
function Activities({
  caption,
  activities,
  session,
  empty,
}: {
  caption: string
  activities: readonly DayActivity[]
  session: Session
  empty: string
}) {
  const columns: Column<DayActivity>[] = [
    {
      name: 'What',
      cell: ({ record, outcomes }) => (
        <>
          <Summary record={record} />
          {outcomes.map((outcome) => outcome !== record && <Summary key={outcome.id} record={outcome} />)}
        </>
      ),
    },
    { name: 'When', cell: ({ record }) => <Time at={record.recordedAt} /> },
    { name: 'By', cell: ({ record }) => <Agent id={record.actor} names={session.names} /> },
    {
      name: 'Decided by',
      cell: ({ decisions }) =>
        decisions.length === 0
          ? '–'
          : decisions.map((record) => <Decision key={record.id} session={session} record={record} />),
    },
    { name: 'Record', cell: ({ record: { id } }) => <Id id={id} to={linkTo('record', id)} short /> },
  ]
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={activities}
      keyOf={({ record }) => record.id}
      empty={empty}
    />
  )
}

type Figures = { readonly agent: string; readonly counts: Map<string, number> }

function ByAgent({
  session,
  records,
  activities,
}: {
  session: Session
  records: readonly LedgerRecord[]
  activities: readonly DayActivity[]
}) {
  const figures = new Map<string, Figures>()
  const add = (agent: string, ...names: string[]) => {
    const row = figures.get(agent) ?? { agent, counts: new Map() }
    figures.set(agent, row)
    for (const name of names) row.counts.set(name, (row.counts.get(name) ?? 0) + 1)
  }
  for (const { actor, entry } of records) add(actor, 'records', entry.signedBy)
  for (const { record, ending, isRun } of activities)
    if (ending !== null) add(record.actor, ...(isRun ? ['runs'] : ['actions', ending]))
  const number = (name: string, of: Ending | 'actions' | 'runs' | 'records' | 'agent'): Column<Figures> => ({
    name,
    cell: ({ counts }) => <span class="number">{(counts.get(of) ?? 0).toLocaleString('en')}</span>,
  })
  const columns: Column<Figures>[] = [
    { name: 'Agent', cell: ({ agent }) => <Agent id={agent} names={session.names} /> },
    number('Actions', 'actions'),
    number('Ended well', 'ok'),
    number('Failed', 'error'),
    number('Denied', 'denied'),
    number('No outcome', 'open'),
    number('Unknown', 'unclear'),
    number('Runs', 'runs'),
    number('Records', 'records'),
    number('Signed by the agent', 'agent'),
  ]
  return (
    <Table
      caption="Agents"
      columns={columns}
      rows={[...figures.values()]}
      keyOf={({ agent }) => agent}
      empty="No agent did anything on this day."
    />
  )
}
