/** Posts a body and returns the answer. Throws unless the status is 201. */
export async function post<T>(url: string, key: string, body: object): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 201)
    throw new Error(`POST ${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}
