import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Verdict } from '../verifier.ts'

/** Shows a verdict. A negative verdict turns the whole page red while it is shown. */
export function VerdictSection({ verdict, children }: { verdict: Verdict; children?: ComponentChildren }) {
  const { ok, title, reason, basis } = verdict
  useEffect(() => {
    document.documentElement.classList.toggle('alarm', !ok)
    return () => document.documentElement.classList.remove('alarm')
  }, [ok])
  return (
    <section class={`card verdict ${ok ? 'good' : 'bad'}`} role={ok ? 'status' : 'alert'}>
      <h2>
        {ok ? '✓' : '✗'} {title}
      </h2>
      {reason !== null && <p class="reason mono">{reason}</p>}
      {basis.length > 0 && (
        <ul>
          {basis.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      {children}
    </section>
  )
}
