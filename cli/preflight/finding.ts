/** Result of one check. It has advice unless the result is ok. `skip`: the check was not possible. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail' | 'skip'
  readonly detail: string
  readonly advice: string | null
}

export function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail, advice: null }
}

export function warn(check: string, detail: string, advice: string | null): Finding {
  return { check, status: 'warn', detail, advice }
}

export function fail(check: string, detail: string, advice: string | null): Finding {
  return { check, status: 'fail', detail, advice }
}
