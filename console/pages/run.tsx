import { useEffect, useMemo, useState } from 'preact/hooks'
import { type Activity, activitiesOf, everyActivity, isRun, NO_OUTCOME, sumsOf } from '../activities.ts'
import { RUN_DRAW_EVERY_MS } from '../limits.ts'
import { type Column, count, Failure, Id, Page, Section, State, Table } from '../parts/basics.tsx'
import { shorten, wordOf } from '../parts/records.tsx'
import { Waterfall } from '../parts/waterfall.tsx'
import { linkTo } from '../router.ts'
import { type Run, readRun, readTrace } from '../runs.ts'
import type { Session } from '../session.ts'
import { duration } from '../times.ts'

/** Shows a run or a trace: activities with their nesting, times and outcomes. */
export function RunPage({ session, id, query }: { session: Session; id: string; query: URLSearchParams }) {
  const trace = query.get('trace')
  const { drawn, error } = useRun((show, signal) =>
    trace === null
      ? readRun(session.client, id, show, signal)
      : readTrace(session.client, trace, show, signal),
  )
  return (
    <Page
      title={
        trace === null ? (
          <>
            Run of <Id id={id} to={linkTo('record', id)} />
          </>
        ) : (
          <>
            Trace <Id id={trace} />
          </>
        )
      }
    >
      {error !== null && <Failure error={error} />}
      {drawn === null && error === null && <p class="quiet">Loading…</p>}
      {drawn !== null && drawn.records === 0 && (
        <p>
          No record has this trace. <a href={linkTo('search', '', { text: trace ?? id })}>Find it as text</a>
        </p>
      )}
      {drawn !== null && drawn.records > 0 && (
        <>
          <Totals drawn={drawn} />
          <Waterfall activities={drawn.activities} session={session} />
          <Sums activities={drawn.activities} />
        </>
      )}
    </Page>
  )
}

type Drawn = {
  readonly activities: readonly Activity[]
  readonly records: number
  readonly state: Run['state']
}

/** Returns the activities of a run while it is read, updated every RUN_DRAW_EVERY_MS. */
function useRun(read: (show: (run: Run) => void, signal: AbortSignal) => Promise<void>) {
  const [drawn, setDrawn] = useState<Drawn | null>(null)
  const [error, setError] = useState<Error | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    let shown = 0
    let newest: Run | null = null
    const draw = () => {
      if (newest === null) return
      const { records, isRead, state } = newest
      newest = null
      shown++
      setDrawn({ activities: activitiesOf(records, isRead), records: records.length, state })
    }
    const timer = setInterval(draw, RUN_DRAW_EVERY_MS)
    read((run) => {
      newest = run
      if (shown === 0) draw()
    }, controller.signal)
      .then(draw)
      .catch((failure: Error) => {
        if (!controller.signal.aborted) setError(failure)
      })
      .finally(() => clearInterval(timer))
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [])
  return { drawn, error }
}

/**
 * Shows the totals of the whole run. Runs of agents are counted separately, because a run fails if an action in it
 * fails.
 */
function Totals({ drawn: { activities, records, state } }: { drawn: Drawn }) {
  const [actions, runs, decisions] = [new Map(), new Map(), new Map()] as Map<string, number>[]
  for (const activity of everyActivity(activities)) {
    if (activity.ending !== null) add(isRun(activity.record) ? runs! : actions!, activity.ending)
    for (const decision of activity.decisions) add(decisions!, wordOf(decision) ?? 'erased')
  }
  const open = (actions!.get(NO_OUTCOME) ?? 0) + (runs!.get(NO_OUTCOME) ?? 0)
  return (
    <div role="status">
      <p>
        {state === 'reading' && 'Reading… '}
        {count(records, 'record')}
        {state === 'cut' && ' are shown, and there are more'}
        {state === 'whole' &&
          `; ${open === 0 ? 'every action has its outcome' : `${count(open, 'action')} without an outcome`}`}
        .
      </p>
      <p class="totals">
        <Counts name="Actions" counts={actions!} />
        <Counts name="Runs of agents" counts={runs!} />
        <Counts name="Decisions" counts={decisions!} />
      </p>
    </div>
  )
}

function add(counts: Map<string, number>, word: string): void {
  counts.set(word, (counts.get(word) ?? 0) + 1)
}

function Counts({ name, counts }: { name?: string; counts: ReadonlyMap<string, number> }) {
  if (counts.size === 0) return null
  return (
    <span class="marks">
      {name && `${name}:`}
      {[...counts].map(([word, number]) => (
        <span key={word}>
          {number.toLocaleString('en')} <State state={word} />
        </span>
      ))}
    </span>
  )
}

const SUM_COLUMNS: Column<ReturnType<typeof sumsOf>[number]>[] = [
  { name: 'Name', cell: ({ name }) => shorten(name) },
  { name: 'Kind', cell: ({ kind }) => kind },
  { name: 'Activities', cell: ({ count }) => <span class="number">{count.toLocaleString('en')}</span> },
  {
    name: 'How they ended',
    cell: ({ endings }) => <Counts counts={endings} />,
  },
  {
    name: 'Total time',
    cell: ({ inAllMs }) => <span class="number">{inAllMs === 0 ? '–' : duration(inAllMs)}</span>,
  },
  {
    name: 'Longest',
    cell: ({ longestMs }) => <span class="number">{longestMs === 0 ? '–' : duration(longestMs)}</span>,
  },
]

function Sums({ activities }: { activities: readonly Activity[] }) {
  const sums = useMemo(() => sumsOf(activities), [activities])
  if (sums.length === 0) return null
  return (
    <Section title="Totals by name">
      <Table
        caption="Totals by name"
        columns={SUM_COLUMNS}
        rows={sums}
        keyOf={({ kind, name }) => JSON.stringify([kind, name])}
      />
    </Section>
  )
}
