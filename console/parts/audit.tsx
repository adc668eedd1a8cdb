import type { Audit } from '../../sdk/generated/api.ts'
import { linkTo } from '../router.ts'
import { wordsOf } from '../words.ts'
import { State } from './basics.tsx'

export function AuditResult({ audit: { ok, state } }: { audit: Audit }) {
  if (state !== 'done') return <State state={wordsOf(state)} tone={state === 'failed' ? 'wait' : 'plain'} />
  return ok ? <State state="no fault" tone="good" /> : <State state="fault" tone="bad" />
}

/** Shows the fault that the audit found, or the error of its newest attempt. Shows nothing if there is neither. */
export function AuditReason({ audit: { report, error } }: { audit: Audit }) {
  if (error !== null) return <>{error.reason}</>
  if (report === null) return null
  const { failure, notices } = report
  if (failure === null) return <>{notices.join('; ')}</>
  return (
    <>
      {failure.seq !== null && (
        <>
          <a href={linkTo('entry', `${failure.seq}`)}>entry {failure.seq}</a>:{' '}
        </>
      )}
      <code>{failure.code}</code> {failure.reason}
    </>
  )
}
