/** The object with one of its methods replaced. */
export function replacing<T extends object>(object: T, name: keyof T, method: (...args: never[]) => unknown): T {
  return new Proxy(object, {
    get(target, property) {
      if (property === name) return method;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
