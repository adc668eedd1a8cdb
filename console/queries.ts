import { useEffect, useState } from 'preact/hooks'

/** Result of a request. While the request is repeated, the last result stays visible. */
export type Query<T> = {
  readonly data: T | null
  readonly error: Error | null
  readonly isAsking: boolean
  reload(): void
}

/** Sends a request when the page opens, when one of `inputs` changes, and every `everyMs`. */
export function useQuery<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  everyMs?: number,
): Query<T> {
  const [round, setTurn] = useState(0)
  const [asked, setAnswer] = useState<{ data: T | null; error: Error | null; of: string }>(NOTHING)
  const [isAsking, setIsAsking] = useState(true)
  const of = JSON.stringify(inputs)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    setIsAsking(true)
    ask(signal)
      .then((data) => ({ data, error: null }))
      .catch((error: Error) => ({ data: null, error }))
      .then((answer) => {
        if (signal.aborted) return
        setAnswer({ ...answer, of })
        setIsAsking(false)
      })
    return () => controller.abort()
  }, [of, round])
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden) setTurn((before) => before + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  const isOfInputs = asked.of === of
  return {
    data: isOfInputs ? asked.data : null,
    error: isOfInputs ? asked.error : null,
    isAsking,
    reload: () => setTurn((before) => before + 1),
  }
}

/** Returns a function that runs an action of the reader, and the state and error of the last action. */
export function useAct(): {
  readonly isBusy: boolean
  readonly error: Error | null
  act(work: () => Promise<void>): Promise<void>
} {
  const [isBusy, setIsBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const act = async (work: () => Promise<void>) => {
    setIsBusy(true)
    setError(null)
    await work().catch(setError)
    setIsBusy(false)
  }
  return { isBusy, error, act }
}

const NOTHING = { data: null, error: null, of: '' }
