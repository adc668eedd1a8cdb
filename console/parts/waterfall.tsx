import { Component } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import type { LedgerRecord } from '../../sdk/generated/api.ts'
import { type Activity, everyActivity, namesOf } from '../activities.ts'
import { RUN_ROWS_OPEN_MAX } from '../limits.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'
import { duration } from '../times.ts'
import { Agent, count, Id, Json, State, Time } from './basics.tsx'
import { membersOf, shorten, summaryOf, text, wordOf } from './records.tsx'

/** A row of the table: an activity with its position in the tree. */
type Row = {
  readonly activity: Activity
  /** Depth in the tree, counted from 1. */
  readonly level: number
  /** Index of the parent row, or -1 if the row has no parent. */
  readonly parent: number
  readonly isFolded: boolean
}

type Scale = { readonly fromMs: number; readonly lengthMs: number }

/**
 * Shows activities as rows, each with a bar for its time. Only one row is in the Tab order. Arrow keys move between
 * rows and fold them, and Enter opens the content of a row (treegrid of the ARIA Authoring Practices).
 */
export function Waterfall({ activities, session }: { activities: readonly Activity[]; session: Session }) {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const [active, setActive] = useState<string | null>(null)
  const grid = useRef<HTMLTableElement>(null)
  const scale = useMemo(() => scaleOf(activities), [activities])
  const isFoldedFirst = useMemo(() => [...everyActivity(activities)].length > RUN_ROWS_OPEN_MAX, [activities])
  const rows = useMemo(() => rowsOf(activities, folds, isFoldedFirst), [activities, folds, isFoldedFirst])
  const activeRow = rows.find(({ activity }) => activity.record.id === active) ?? rows[0]

  const flip = (set: ReadonlySet<string>, id: string) => {
    const next = new Set(set)
    if (!next.delete(id)) next.add(id)
    return next
  }
  const fold = (id: string, isFolded: boolean) => setFolds((before) => new Map(before).set(id, isFolded))
  const open = (id: string) => setOpened((before) => flip(before, id))
  const focus = (row: Row | undefined) => {
    if (row === undefined) return
    const { id } = row.activity.record
    setActive(id)
    grid.current?.querySelector<HTMLElement>(`[data-row="${id}"]`)?.focus()
  }
  const press = (event: KeyboardEvent) => {
    const id = (event.target as HTMLElement).dataset['row']
    const at = rows.findIndex(({ activity }) => activity.record.id === id)
    const row = rows[at]
    // Keys that are pressed in a link or in an open value inside a row are not handled here.
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const hasBelow = row.activity.below.length > 0
    const acts: Readonly<Record<string, () => void>> = {
      ArrowDown: () => focus(rows[at + 1]),
      ArrowUp: () => focus(rows[at - 1]),
      Home: () => focus(rows[0]),
      End: () => focus(rows.at(-1)),
      ArrowRight: () => (hasBelow && row.isFolded ? fold(id!, false) : hasBelow && focus(rows[at + 1])),
      ArrowLeft: () => (hasBelow && !row.isFolded ? fold(id!, true) : focus(rows[row.parent])),
      Enter: () => open(id!),
      ' ': () => open(id!),
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  return (
    <section class="card">
      <h2>What was done</h2>
      <p class="quiet">
        Arrow keys move and fold, Enter opens. Times are the writers', or else the server's.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the pattern is a table whose rows fold */}
      <table class="waterfall" role="treegrid" ref={grid} onKeyDown={press}>
        <caption>What was done</caption>
        <thead>
          <tr class="activity head">
            <th scope="col">Activity</th>
            <th scope="col" class="axis">
              <span>0</span>
              <span>{duration(scale.lengthMs)}</span>
            </th>
            <th scope="col">Took</th>
            <th scope="col">By</th>
            <th scope="col">Record</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <ActivityRow
              key={row.activity.record.id}
              activity={row.activity}
              level={row.level}
              isFolded={row.isFolded}
              isOpen={opened.has(row.activity.record.id)}
              isActive={row === activeRow}
              {...scale}
              names={session.names}
              fold={fold}
              open={open}
              setActive={setActive}
            />
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Returns the rows that are not inside a folded row. `folds`: activities that the reader has folded or unfolded. */
function rowsOf(
  activities: readonly Activity[],
  folds: ReadonlyMap<string, boolean>,
  isFoldedFirst: boolean,
): readonly Row[] {
  const rows: Row[] = []
  const walk = (list: readonly Activity[], level: number, parent: number) => {
    for (const activity of list) {
      const isFolded = folds.get(activity.record.id) ?? (isFoldedFirst && level > 1)
      rows.push({ activity, level, parent, isFolded })
      if (!isFolded) walk(activity.below, level + 1, rows.length - 1)
    }
  }
  walk(activities, 1, -1)
  return rows
}

function scaleOf(activities: readonly Activity[]): Scale {
  let [fromMs, toMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { beganMs, endedMs } of everyActivity(activities)) {
    fromMs = Math.min(fromMs, beganMs)
    toMs = Math.max(toMs, endedMs ?? beganMs)
  }
  return { fromMs, lengthMs: Math.max(1, toMs - fromMs) }
}

type ActivityRowProps = {
  readonly activity: Activity
  readonly level: number
  readonly isFolded: boolean
  readonly isOpen: boolean
  readonly isActive: boolean
  readonly fromMs: number
  readonly lengthMs: number
  readonly names: Session['names']
  readonly fold: (id: string, isFolded: boolean) => void
  readonly open: (id: string) => void
  readonly setActive: (id: string) => void
}

const DRAWN_BY = ['level', 'isFolded', 'isOpen', 'isActive', 'fromMs', 'lengthMs', 'names'] as const
/** Members that a row shows. They are compared one by one, because each redraw makes new activity objects. */
const ACTIVITY_MEMBERS_DRAWN = ['record', 'ending', 'beganMs', 'endedMs', 'inside', 'troubles'] as const

/** Row of an activity. It is redrawn only if it has changed, because a run may have thousands of rows. */
class ActivityRow extends Component<ActivityRowProps> {
  override shouldComponentUpdate(next: ActivityRowProps): boolean {
    const { activity } = this.props
    return (
      DRAWN_BY.some((name) => this.props[name] !== next[name]) ||
      ACTIVITY_MEMBERS_DRAWN.some((name) => activity[name] !== next.activity[name]) ||
      activity.outcomes.length !== next.activity.outcomes.length ||
      activity.decisions.length !== next.activity.decisions.length
    )
  }

  override render() {
    const { activity, level, isFolded, isOpen, isActive, fromMs, lengthMs, names, fold, open, setActive } =
      this.props
    const { record, ending, decisions, beganMs, endedMs, below, inside, troubles } = activity
    const { id, payload, gated } = record
    const { name, kind } = namesOf(record)
    const hasBelow = below.length > 0
    const given = payload?.['arguments']
    const tab = isActive ? 0 : -1
    return (
      <>
        <tr
          class="activity"
          data-row={id}
          tabIndex={tab}
          aria-level={level}
          {...(hasBelow && { 'aria-expanded': !isFolded })}
          onFocus={() => setActive(id)}
        >
          <td class="what" style={{ paddingLeft: `${(level - 1) * 0.9}rem` }}>
            <button
              type="button"
              class={`fold ${hasBelow ? '' : 'none'}`}
              tabIndex={-1}
              aria-hidden="true"
              onClick={() => fold(id, !isFolded)}
            >
              {isFolded ? '▸' : '▾'}
            </button>
            <button type="button" class="open" tabIndex={tab} aria-expanded={isOpen} onClick={() => open(id)}>
              {kind === record.type && name === record.type ? (
                <>
                  <strong>{record.type}</strong> {summaryOf(record)}
                </>
              ) : (
                <>
                  <strong>{shorten(name)}</strong> <span class="quiet">{kind}</span>{' '}
                  {given === undefined ? '' : shorten(membersOf(given))}
                </>
              )}
            </button>
            <span class="marks">
              {gated !== null && <State state={record.state} />}
              {ending !== null && <State state={ending} />}
              {failureOf(activity)}
              {decisions.map((decision) => (
                <span key={decision.id}>
                  <State state={wordOf(decision) ?? 'erased'} /> {summaryOf(decision)}
                </span>
              ))}
              {isFolded && hasBelow && (
                <span class="quiet">{count(inside, 'activity', 'activities')} inside</span>
              )}
              {isFolded && troubles > 0 && <State state={`${troubles} not ok`} tone="bad" />}
            </span>
          </td>
          <td class="time">
            <Bar activity={activity} fromMs={fromMs} lengthMs={lengthMs} />
          </td>
          <td class="number took">
            {endedMs === null
              ? ''
              : endedMs === beganMs && ending === null
                ? ''
                : duration(endedMs - beganMs)}
          </td>
          <td class="by">
            <Agent id={record.actor} names={names} />
          </td>
          <td>
            <a href={linkTo('record', id)} tabIndex={tab}>
              <code>…{id.slice(-8)}</code>
            </a>
          </td>
        </tr>
        {isOpen && (
          <tr class="inside">
            <td>
              <Contents activity={activity} names={names} />
            </td>
          </tr>
        )}
      </>
    )
  }
}

/** Returns the error of an activity, or null if the activity ended well. */
function failureOf({ ending, outcomes, record }: Activity): string | null {
  if (ending === 'ok') return null
  const given = { ...record.payload, ...outcomes.at(-1)?.payload } as Record<string, unknown>
  return shorten([text(given['errorType']), text(given['error'])].filter((one) => one !== null).join(': '))
}

/**
 * Bar for the time of an activity within the run. If the end of the activity is unknown, the bar is a thin line at
 * its start.
 */
function Bar({ activity: { beganMs, endedMs, ending }, fromMs, lengthMs }: { activity: Activity } & Scale) {
  const percent = (ms: number) => `${Math.max(0, (100 * ms) / lengthMs)}%`
  const tone = ending === 'error' || ending === 'denied' ? 'bad' : ending === 'ok' ? 'good' : 'wait'
  return (
    <svg class={`bar ${ending === null ? 'plain' : tone}`} aria-hidden="true">
      <rect
        x={percent(beganMs - fromMs)}
        y="25%"
        height="50%"
        width={percent((endedMs ?? beganMs) - beganMs)}
      />
      <rect x={percent(beganMs - fromMs)} y="15%" height="70%" width="2" />
    </svg>
  )
}

/** Payloads of an activity's records, with signers and times. */
function Contents({
  activity: { record, decisions, outcomes },
  names,
}: {
  activity: Activity
  names: Session['names']
}) {
  const parts: [string, LedgerRecord][] = [
    [outcomes.length + decisions.length > 0 ? 'Action' : 'Record', record],
    ...decisions.map((one): [string, LedgerRecord] => ['Decision', one]),
    ...outcomes.map((one): [string, LedgerRecord] => ['Outcome', one]),
  ]
  return (
    <>
      {parts.map(([title, part]) => (
        <div key={part.id}>
          <p>
            <strong>{title}</strong> <Id id={part.id} to={linkTo('record', part.id)} short />{' '}
            <span class="quiet">
              <Agent id={part.actor} names={names} />, signed by the {part.entry.signedBy},{' '}
              <Time at={part.recordedAt} />
            </span>
          </p>
          {part.payload === null ? (
            <p class="quiet">{part.erasure === null ? 'Only its digest is here.' : 'Erased.'}</p>
          ) : (
            <Json value={part.payload} label={`Payload of ${part.id}`} />
          )}
        </div>
      ))}
    </>
  )
}
