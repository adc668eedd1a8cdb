import type { Target } from './connection.ts'

const REFUSED_PAUSE_MS = 200

/**
 * Sends a JSON body and returns the answer. Sends again after a refusal for overload. Throws for any other answer that
 * is not 2xx.
 */
export async function post(
  target: Target,
  bearer: string,
  path: string,
  body: object,
  headers: Record<string, string> = {},
  // biome-ignore lint/suspicious/noExplicitAny: answers of our own server
): Promise<any> {
  return send(target, bearer, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

// biome-ignore lint/suspicious/noExplicitAny: answers of our own server
export function get(target: Target, bearer: string, path: string): Promise<any> {
  return send(target, bearer, path, { method: 'GET' })
}

async function send(
  target: Target,
  bearer: string,
  path: string,
  request: Pick<RequestInit, 'method' | 'headers' | 'body'>,
  // biome-ignore lint/suspicious/noExplicitAny: answers of our own server
): Promise<any> {
  for (;;) {
    const answer = await fetch(`http://${target.host}:${target.port}${path}`, {
      ...request,
      headers: { authorization: `Bearer ${bearer}`, ...request.headers },
    })
    const text = await answer.text()
    if (answer.ok) return JSON.parse(text)
    if (answer.status !== 503) throw new Error(`${request.method} ${path} answered ${answer.status}: ${text}`)
    await new Promise((resolve) => setTimeout(resolve, REFUSED_PAUSE_MS))
  }
}
