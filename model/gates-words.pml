/* ---- Words: two persons, of whom one may be wrong. What the right one says is what the portal shows. ---- */

#ifdef ONE_PERSON
#define SECOND(who, a) true
#define BOTH m
#else
#ifdef SAME_PERSON_TWICE
#define SECOND(who, a) (wordOf != 0 && wordAbout == a)
#elif defined(ANY_SUBJECT)
#define SECOND(who, a) (wordOf != 0 && wordOf != who)
#else
#define SECOND(who, a) (wordOf != 0 && wordOf != who && wordAbout == a)
#endif
#ifdef EITHER_NAMES
#define BOTH (wordNames | m)
#else
#define BOTH (wordNames & m)
#endif
#endif

/* m: the numbers that the person names as not the row's */
inline word() {
  f = OF(a);
  if
  :: (shown & OWN) == 0 -> m = shown; n = 0; told = 1
  :: MAY_LIE(who) && (shown & OWN) != 0 -> liar = who; m = shown; n = 1; told = 1; printf("@ person %d | is wrong\n", who)
  :: else -> told = 0                 /* it was filed, by what the portal shows */
  fi;
  if
  :: !told
  :: told && !SUBJECT(a) -> printf("@ person %d | attempt %d was not filed: refused, nothing to answer\n", who, a)
#ifdef EARLY_WORD_STANDS
  :: told && SUBJECT(a) && !(WINDOW_OVER(f)) && wordOf == 0 -> wordOf = who; wordAbout = a; wordNames = m; wordUnseen = away; printf("@ person %d | attempt %d was not filed: too early, and stands\n", who, a)
  :: told && SUBJECT(a) && !(WINDOW_OVER(f)) && wordOf != 0
#else
  :: told && SUBJECT(a) && !(WINDOW_OVER(f)) -> printf("@ person %d | attempt %d was not filed: refused, too early\n", who, a)
#endif
  :: told && SUBJECT(a) && WINDOW_OVER(f) && LOOKED(f) && (AGREEING(f) & unnamed) == 0 ->
     releaseAbsent(a, 0); printf("@ person %d | attempt %d was not filed: row=%d\n", who, a, row[f])
  :: told && SUBJECT(a) && WINDOW_OVER(f) && !(LOOKED(f)) && !away -> printf("@ person %d | attempt %d was not filed: refused, no look\n", who, a)
  :: told && SUBJECT(a) && WINDOW_OVER(f) && !(LOOKED(f)) && away ->
     if
     :: SECOND(who, a) && wordUnseen -> releaseAbsent(a, 1); printf("@ person %d | attempt %d was not filed, unseen: row=%d\n", who, a, row[f])
     :: else -> wordOf = who; wordAbout = a; wordNames = m; wordUnseen = 1; printf("@ person %d | attempt %d was not filed, unseen: stands\n", who, a)
     fi
  :: told && SUBJECT(a) && WINDOW_OVER(f) && LOOKED(f) && (AGREEING(f) & unnamed) != 0 ->
     if
     :: SECOND(who, a) && (AGREEING(f) & unnamed & ~(BOTH)) == 0 ->
        printf("@ person %d | attempt %d was not filed, nor the certificates %d: carried out\n", who, a, m); unnamed = unnamed & ~(BOTH); releaseAbsent(a, 0)
     :: else -> wordOf = who; wordAbout = a; wordNames = m; wordUnseen = 0; printf("@ person %d | attempt %d was not filed, nor the certificates %d: stands\n", who, a, m)
     fi
  fi;
  m = 0; n = 0; told = 0; f = 0
}
