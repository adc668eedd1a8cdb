import { useEffect, useRef, useState } from 'preact/hooks'
import type { TailedEvent } from '../../sdk/resources/events.ts'
import { LIVE_ANNOUNCE_EVERY_MS, LIVE_DRAW_EVERY_MS, LIVE_EVENTS_MAX } from '../limits.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'
import { Agent, type Column, Failure, Id, State, Table, Time } from './basics.tsx'

/**
 * Shows live events, newest first, at most LIVE_EVENTS_MAX. Draws four times a second, however many events arrive. The
 * list does not change while the reader pauses it, or while the keyboard focus is in it.
 */
export function Live({ session }: { session: Session }) {
  const { client } = session
  const [shown, setShown] = useState<readonly TailedEvent[]>([])
  const [total, setTotal] = useState(0)
  const [announced, setAnnounced] = useState(0)
  const [isPaused, setIsPaused] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const isFocused = useRef(false)
  const paused = useRef(false)
  paused.current = isPaused

  useEffect(() => {
    const controller = new AbortController()
    const came: TailedEvent[] = []
    let seen = 0
    const follow = async () => {
      for await (const event of client.events.tail({ signal: controller.signal })) {
        seen++
        came.unshift(event)
        if (came.length > LIVE_EVENTS_MAX) came.length = LIVE_EVENTS_MAX
      }
    }
    follow().catch((error: Error) => {
      if (!controller.signal.aborted) setError(error)
    })
    const draw = setInterval(() => {
      setTotal(seen)
      if (came.length === 0 || paused.current || isFocused.current) return
      const fresh = came.splice(0)
      setShown((before) => [...fresh, ...before].slice(0, LIVE_EVENTS_MAX))
    }, LIVE_DRAW_EVERY_MS)
    const announce = setInterval(() => setAnnounced(seen), LIVE_ANNOUNCE_EVERY_MS)
    return () => {
      controller.abort()
      clearInterval(draw)
      clearInterval(announce)
    }
  }, [client])

  const columns: Column<TailedEvent>[] = [
    { name: 'Event', cell: ({ type, data }) => <Happened type={type} data={data} /> },
    { name: 'When', cell: ({ timestamp }) => <Time at={timestamp} /> },
    { name: 'By', cell: ({ data }) => actorOf(data, session) },
    { name: 'About', cell: (event) => <About event={event} /> },
  ]
  return (
    <section class="card live">
      <h2>Live</h2>
      <div class="row">
        <span class="number" data-live-total={total}>
          {total.toLocaleString('en')} events since this page was opened
        </span>
        <button type="button" class="do" aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </button>
      </div>
      <p class="sr" aria-live="polite">
        {announced > 0 ? `${announced} events` : ''}
      </p>
      {error !== null && <Failure error={error} />}
      <div
        onFocusIn={() => {
          isFocused.current = true
        }}
        onFocusOut={() => {
          isFocused.current = false
        }}
      >
        <Table
          caption="Live events"
          columns={columns}
          rows={shown}
          keyOf={({ id }) => id}
          empty="None yet. New events appear here."
        />
      </div>
    </section>
  )
}

type Data = {
  readonly record?: { readonly id: string; readonly state?: string } | null
  readonly entry?: { readonly seq: number } | null
  readonly checkpoint?: { readonly size: number }
  readonly predicate?: { readonly actor?: unknown }
}

function About({ event: { data } }: { event: TailedEvent }) {
  const { record, entry, checkpoint } = data as Data
  if (record) return <Id id={record.id} to={linkTo('record', record.id)} short />
  if (checkpoint) return <a href={linkTo('checkpoints', `${checkpoint.size}`)}>{checkpoint.size} entries</a>
  return entry ? <a href={linkTo('entry', `${entry.seq}`)}>entry {entry.seq}</a> : null
}

/** Shows an event, and the state of a gated record after it. */
function Happened({ type, data }: { type: string; data: unknown }) {
  const state = (data as Data).record?.state
  return (
    <>
      <code>{type}</code> {state !== undefined && state !== 'RECORDED' && <State state={state} />}
    </>
  )
}

function actorOf(data: unknown, { names }: Session) {
  const actor = (data as Data).predicate?.actor
  return typeof actor === 'string' ? <Agent id={actor} names={names} /> : null
}
