import { useEffect, useState } from 'preact/hooks'
import { parseRoute, type Route } from './router.ts'

export function go(link: string): void {
  location.hash = link
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  useEffect(() => {
    const read = () => setRoute(parseRoute(location.hash))
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return route
}
